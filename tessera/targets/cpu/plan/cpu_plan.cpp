#include "tessera/targets/cpu/plan/cpu_plan.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/digest.h"
#include "tessera/io/plan_file.h"
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

}  // namespace

Options options_of(const PlanRequest& request) {
  Options options;
  options.threads = request.threads.value_or(0);
  options.isa = request.isa;
  if (options.isa)
    check(*options.isa <= host_isa(), Code::unsupported, "this CPU has {} at most, not {}", name(host_isa()),
          name(*options.isa));
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

CpuPlan::CpuPlan(LoadedNetwork network, PlanRequest request)
    : model_(std::move(network.model)),
      name_(std::move(network.name)),
      request_(std::move(request)),
      options_(options_of(request_)) {
  for (std::size_t i = 0; i < network.graph.inputs.size(); ++i) {
    const Value& value = network.graph.value(network.graph.inputs[i]);
    model_inputs_.push_back(
        fmt::format("{} {}", value.name, TensorType(network.inputs[i].type(), network.inputs[i].shape()).to_string()));
  }
  if (!network.inputs.empty() && network.inputs[0].shape().rank() > 0)
    batch_ = std::max<std::int64_t>(1, network.inputs[0].shape()[0]);
  network_digest_ = tessera::network_digest(network.graph);
  engine_ = std::make_unique<Engine>(prepared(std::move(network.graph), options_), options_, weights_);
  const ThreadLimit limit(options_.threads);
  plans_ = engine_->plans(addresses(network.inputs));
}

std::vector<StepView> CpuPlan::steps() const { return step_views(plans_); }

std::vector<MoveView> CpuPlan::moves() const { return move_views(plans_); }

PlanMemory CpuPlan::memory() const {
  std::int64_t arena = 0;
  for (const auto& plan : plans_) arena = std::max(arena, plan->arena_bytes);
  return {{.memory = "values", .peak_bytes = arena, .limit_bytes = options_.memory_limit_bytes},
          {.memory = "packed weights", .peak_bytes = weights_->bytes()}};
}

PlanTotals CpuPlan::totals() const { return totals_of(plans_, batch_); }

View CpuPlan::shown() const {
  std::int64_t lower_bound = 0;
  for (const auto& plan : plans_) lower_bound = std::max(lower_bound, plan->arena_lower_bound_bytes);
  const PlanMemory memory = this->memory();
  View view;
  view.parts.push_back(
      {.table = step_table(plans_),
       .after = fmt::format("\nvalues need {} at once (at least {}), packed weights {}; estimates only rank kernels\n",
                            format_bytes(static_cast<double>(memory[0].peak_bytes)),
                            format_bytes(static_cast<double>(lower_bound)),
                            format_bytes(static_cast<double>(memory[1].peak_bytes)))});
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
