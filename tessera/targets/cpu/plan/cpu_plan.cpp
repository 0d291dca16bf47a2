#include "tessera/targets/cpu/plan/cpu_plan.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/digest.h"
#include "tessera/io/plan_file.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/report/kernel_plan_view.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::cpu {
namespace {

std::vector<const Array*> addresses(const std::vector<Array>& arrays) {
  std::vector<const Array*> out;
  for (const Array& array : arrays) out.push_back(&array);
  return out;
}

// The most that the processor of a machine file has; of this machine, what it has.
Isa isa_of(const Machine& machine) {
  if (machine.path.empty()) return host_isa();
  const std::optional<Isa> isa = parse_isa(machine.cpu->isa);
  check(isa.has_value(), Code::parse, "machine '{}' has the instruction set '{}', which is unknown", machine.name,
        machine.cpu->isa);
  return *isa;
}

}  // namespace

Options options_of(const PlanRequest& request, Isa most) {
  Options options;
  options.threads = request.threads.value_or(0);
  options.isa = request.isa;
  if (options.isa)
    check(*options.isa <= most, Code::unsupported, "this CPU has {} at most, not {}", name(most), name(*options.isa));
  options.storage = request.storage.value_or(ElementType::float32);
  options.weights = request.weights.value_or(DType::float32);
  options.exact = request.exact;
  options.passes_off = request.passes_off;
  options.kernels_off = request.kernels_off;
  options.kernels = request.kernels;
  options.kernels_are_for = request.kernels_are_for;
  options.memory_limit_bytes = request.memory_limit_bytes;
  return options;
}

CpuPlan::CpuPlan(LoadedNetwork network, const Machine& machine, PlanRequest request)
    : model_(std::move(network.model)),
      name_(std::move(network.name)),
      machine_(machine.name),
      request_(std::move(request)),
      options_(options_of(request_, isa_of(machine))) {
  for (std::size_t i = 0; i < network.graph.inputs.size(); ++i) {
    const Value& value = network.graph.value(network.graph.inputs[i]);
    model_inputs_.push_back(
        fmt::format("{} {}", value.name, TensorType(network.inputs[i].type(), network.inputs[i].shape()).to_string()));
  }
  if (!network.inputs.empty() && network.inputs[0].shape().rank() > 0)
    batch_ = std::max<std::int64_t>(1, network.inputs[0].shape()[0]);
  network_digest_ = tessera::network_digest(network.graph);
  Graph graph = prepared(std::move(network.graph), options_);
  if (!machine.path.empty()) {
    machine_digest_ = tessera::machine_digest(machine);
    if (options_.threads == 0) options_.threads = machine.cpu->cores;
    const Isa isa = options_.isa.value_or(isa_of(machine));
    plans_ = {std::make_shared<const Plan>(plan_for(graph, addresses(network.inputs), options_, isa, *machine.cpu))};
    return;
  }
  engine_ = std::make_unique<Engine>(std::move(graph), options_, weights_);
  const ThreadLimit limit(options_.threads);
  plans_ = engine_->plans(addresses(network.inputs));
}

std::vector<StepView> CpuPlan::steps() const { return step_views(plans_); }

std::vector<MoveView> CpuPlan::moves() const { return move_views(plans_); }

PlanMemory CpuPlan::memory() const {
  std::int64_t arena = 0;
  for (const auto& plan : plans_) arena = std::max(arena, plan->arena_bytes);
  PlanMemory memory = {{.memory = "values", .peak_bytes = arena, .limit_bytes = options_.memory_limit_bytes}};
  if (engine_) memory.push_back({.memory = "packed weights", .peak_bytes = weights_->bytes()});
  return memory;
}

PlanTotals CpuPlan::totals() const { return totals_of(plans_, batch_); }

View CpuPlan::shown() const {
  std::int64_t lower_bound = 0;
  for (const auto& plan : plans_) lower_bound = std::max(lower_bound, plan->arena_lower_bound_bytes);
  const PlanMemory memory = this->memory();
  std::string after =
      fmt::format("\nvalues need {} at once (at least {})", format_bytes(static_cast<double>(memory[0].peak_bytes)),
                  format_bytes(static_cast<double>(lower_bound)));
  after += engine_ ? fmt::format(", packed weights {}", format_bytes(static_cast<double>(memory[1].peak_bytes)))
                   : fmt::format(" on {}", machine_);
  View view;
  view.parts.push_back({.table = step_table(plans_), .after = after + "; estimates only rank kernels\n"});
  return view;
}

Table CpuPlan::figures() const {
  Table table({{.name = "estimate", .key = "estimate_us", .unit = "us", .align = Align::right},
               {.name = "values", .key = "arena_bytes", .unit = "B", .align = Align::right}});
  const double us = totals().kernels_s * 1e6;
  table.add_row({Cell(us, fmt::format("{:.1f}", us)), Cell(memory()[0].peak_bytes)});
  return table;
}

View CpuPlan::explain(const std::string& node) const { return explain_step(plans_, node); }

std::string CpuPlan::body() const { return encode_plan_file(name_, plans_); }

void CpuPlan::attach(const Graph&, const std::string&) {}  // it was made from its network

RunResult CpuPlan::run(const std::vector<Array>& inputs) const {
  check(engine_ != nullptr, Code::unsupported, Hint{"--device cpu runs on this machine's own processor"},
        "a plan for {} does not run here", machine_);
  const ThreadLimit limit(options_.threads);
  RunRecord record;
  const std::int64_t begin = now_ns();
  RunResult out{.outputs = engine_->run(addresses(inputs), &record), .trace = {.measured = true}};
  out.trace.seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  for (const StepRecord& step : record.steps) {
    const bool planned = step.plan != nullptr;
    const Step* choice = planned ? &step.plan->steps[step.step] : nullptr;
    out.trace.steps.push_back({.node = step.node ? step.node->name : step.plan->step_name(step.step),
                               .op = step.node ? op_text(*step.node) : "order",
                               .config = !planned         ? "(outside of the plan)"
                                         : choice->kernel ? std::string(choice->kernel->name)
                                                          : "convert_order",
                               .begin_s = static_cast<double>(step.time.begin_ns - begin) * 1e-9,
                               .end_s = static_cast<double>(step.time.end_ns - begin) * 1e-9});
  }
  return out;
}

}  // namespace tessera::cpu
