#include "tessera/targets/cpu/plan/cpu_plan.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/io/plan_file.h"
#include "tessera/report/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tessera::cpu {
namespace {

std::vector<const Array*> addresses(const std::vector<Array>& arrays) {
  std::vector<const Array*> out;
  for (const Array& array : arrays) out.push_back(&array);
  return out;
}

const Node& node_of(const Plan& plan, const Step& step) {
  return plan.graph.nodes[static_cast<std::size_t>(step.node)];
}

const PlanBuffer* result_of(const Plan& plan, const Step& step) {
  const int b = step.outputs.empty() ? -1 : step.outputs[0];
  return b < 0 ? nullptr : &plan.buffers[static_cast<std::size_t>(b)];
}

// A step of a node, by its name or the name of what it makes.
struct FoundStep {
  const Plan& plan;
  const Step& step;
};

FoundStep find_step(const std::vector<std::shared_ptr<const Plan>>& plans, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& plan : plans)
    for (const Step& step : plan->steps) {
      if (step.node == Step::kConversion) continue;
      const Node& node = node_of(*plan, step);
      names.push_back(node.name);
      const bool makes = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return id != kNoValue && plan->graph.value(id).name == name; });
      if (node.name == name || makes) return {*plan, step};
    }
  constexpr std::size_t kShown = 20;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  fail(Code::not_found, Hint{"tessera plan MODEL lists them all; a fused node is part of the one before it"},
       "the plan has no node '{}'; it has {}{}", name, fmt::join(names, ", "),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

// ", channels 16 to 31 of cat"
std::string place_in_whole(const Plan& plan, const PlanBuffer& part) {
  if (part.part_of < 0) return "";
  return fmt::format(", channels {} to {} of {}", part.channel,
                     part.channel + plan.graph.value(part.value).type.shape()[1] - 1,
                     plan.graph.value(plan.buffers[static_cast<std::size_t>(part.part_of)].value).name);
}

std::string head_of(const Plan& plan, const Step& step) {
  const Node& node = node_of(plan, step);
  std::string text = fmt::format("{}: {}\n", node.name, op_text(node));
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kNoValue) {
      const Value& value = plan.graph.value(node.inputs[i]);
      text += fmt::format("  reads {} {} {}{}\n", value.name, value.type.to_string(), name(step.offer.inputs[i]),
                          value.constant ? ", constant" : "");
    }
  for (const int b : step.outputs)
    if (b >= 0) {
      const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
      text += fmt::format("  makes {} {} {} at {} of the arena{}\n", plan.graph.value(buffer.value).name,
                          plan.graph.value(buffer.value).type.to_string(), name(buffer.order), buffer.offset,
                          place_in_whole(plan, buffer));
    }
  return text + "\n";
}

StepView view_of(const Plan& plan, const Step& step) {
  StepView view;
  const Node& node = node_of(plan, step);
  view.node = node.name;
  view.op = op_text(node);
  view.config = step.kernel->name;
  view.why = step.in_place ? "what it would copy lies there already: nothing is run" : "least estimate";
  if (const PlanBuffer* result = result_of(plan, step)) {
    view.result = fmt::format("{} {}", plan.graph.value(result->value).type.to_string(), name(result->order));
    view.memory_peak_bytes = result->bytes;
  }
  view.time_s = step.offer.estimate.seconds;
  view.bound = {std::string(step.offer.estimate.bound)};
  view.read_bytes = step.work.read_bytes;
  view.written_bytes = step.work.write_bytes;
  for (const SlowerKernel& slower : step.slower)
    view.alternatives.push_back({.config = std::string(slower.kernel), .time_s = slower.estimate.seconds});
  for (const RefusedKernel& refused : step.refused)
    view.alternatives.push_back({.config = std::string(refused.kernel), .refusal = Refusal{.message = refused.reason}});
  return view;
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
  engine_ = std::make_unique<Engine>(prepared(std::move(network.graph), options_), options_, weights_);
  const ThreadLimit limit(options_.threads);
  plans_ = engine_->plans(addresses(network.inputs));
}

std::vector<StepView> CpuPlan::steps() const {
  std::vector<StepView> out;
  for (const auto& plan : plans_)
    for (const Step& step : plan->steps)
      if (step.node != Step::kConversion) out.push_back(view_of(*plan, step));
  return out;
}

std::vector<MoveView> CpuPlan::moves() const {
  std::vector<MoveView> out;
  std::size_t next = 0;
  for (const auto& plan : plans_)
    for (const Step& step : plan->steps) {
      if (step.node != Step::kConversion) {
        ++next;
        continue;
      }
      const PlanBuffer* result = result_of(*plan, step);
      out.push_back({.before_step = next,
                     .kind = "order",
                     .value = result ? plan->graph.value(result->value).name : "",
                     .to = result ? std::string(name(result->order)) : "",
                     .why = "the kernel after it reads that order",
                     .time_s = step.offer.estimate.seconds});
    }
  return out;
}

PlanMemory CpuPlan::memory() const {
  std::int64_t arena = 0;
  for (const auto& plan : plans_) arena = std::max(arena, plan->arena_bytes);
  return {{.memory = "values", .peak_bytes = arena, .limit_bytes = options_.memory_limit_bytes},
          {.memory = "packed weights", .peak_bytes = weights_->bytes()}};
}

PlanTotals CpuPlan::totals() const {
  PlanTotals totals{.frames = batch_};
  for (const auto& plan : plans_)
    for (const Step& step : plan->steps) {
      totals.kernels_s += step.offer.estimate.seconds;
      if (step.node == Step::kConversion) totals.moves_s += step.offer.estimate.seconds;
    }
  totals.device_s = totals.kernels_s;
  return totals;
}

View CpuPlan::shown() const {
  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "op"},
               {.name = "kernel"},
               {.name = "output"},
               {.name = "order"},
               {.name = "at", .key = "offset_bytes", .align = Align::right},
               {.name = "bytes", .align = Align::right},
               {.name = "estimate", .key = "estimate_us", .unit = "us", .align = Align::right},
               {.name = "bound"}});
  std::size_t number = 0;
  std::int64_t lower_bound = 0;
  for (const auto& plan : plans_) {
    lower_bound = std::max(lower_bound, plan->arena_lower_bound_bytes);
    for (std::size_t s = 0; s < plan->steps.size(); ++s) {
      const Step& step = plan->steps[s];
      const bool conversion = step.node == Step::kConversion;
      const PlanBuffer* buffer = result_of(*plan, step);
      table.add_row({number++, conversion ? plan->step_name(s) : node_of(*plan, step).name,
                     conversion ? "order" : op_text(node_of(*plan, step)),
                     conversion ? "convert_order" : step.kernel->name,
                     buffer ? Cell(plan->graph.value(buffer->value).type.to_string()) : Cell(),
                     buffer ? Cell(name(buffer->order)) : Cell(), buffer ? Cell(buffer->offset) : Cell(),
                     buffer ? Cell(buffer->bytes, format_bytes(static_cast<double>(buffer->bytes))) : Cell(),
                     Cell(step.offer.estimate.seconds * 1e6, fmt::format("{:.1f}", step.offer.estimate.seconds * 1e6)),
                     step.offer.estimate.bound});
    }
  }
  const PlanMemory memory = this->memory();
  View view;
  view.parts.push_back(
      {.table = std::move(table),
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

View CpuPlan::explain(const std::string& node) const {
  const auto [plan, step] = find_step(plans_, node);
  Table table({{.name = "kernel"},
               {.name = "verdict"},
               {.name = "estimate", .key = "estimate_us", .unit = "us", .align = Align::right},
               {.name = "why", .key = "reason"}});
  const auto us = [](double s) { return Cell(s * 1e6, fmt::format("{:.2f}", s * 1e6)); };
  table.add_row({step.kernel->name, "chosen", us(step.offer.estimate.seconds),
                 step.in_place ? "what it would copy lies there already: nothing is run"
                               : fmt::format("least estimate; bound by {}", step.offer.estimate.bound)});
  for (const SlowerKernel& slower : step.slower)
    table.add_row(
        {slower.kernel, "slower", us(slower.estimate.seconds), fmt::format("bound by {}", slower.estimate.bound)});
  for (const RefusedKernel& refused : step.refused) table.add_row({refused.kernel, "refused", Cell(), refused.reason});
  View view;
  view.parts.push_back({.text = head_of(plan, step), .table = std::move(table)});
  return view;
}

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
