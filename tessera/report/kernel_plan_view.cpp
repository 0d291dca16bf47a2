#include "tessera/report/kernel_plan_view.h"

#include "tessera/core/error.h"
#include "tessera/report/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

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

FoundStep find_step(KernelPlans plans, const std::string& name) {
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

std::vector<StepView> step_views(KernelPlans plans) {
  std::vector<StepView> out;
  for (const auto& plan : plans)
    for (const Step& step : plan->steps)
      if (step.node != Step::kConversion) out.push_back(view_of(*plan, step));
  return out;
}

std::vector<MoveView> move_views(KernelPlans plans) {
  std::vector<MoveView> out;
  std::size_t next = 0;
  for (const auto& plan : plans)
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

PlanTotals totals_of(KernelPlans plans, std::int64_t frames) {
  PlanTotals totals{.frames = frames};
  for (const auto& plan : plans)
    for (const Step& step : plan->steps) {
      totals.kernels_s += step.offer.estimate.seconds;
      if (step.node == Step::kConversion) totals.moves_s += step.offer.estimate.seconds;
    }
  totals.device_s = totals.kernels_s;
  return totals;
}

Table step_table(KernelPlans plans) {
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
  for (const auto& plan : plans) {
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
  return table;
}

View explain_step(KernelPlans plans, const std::string& node) {
  const auto [plan, step] = find_step(plans, node);
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

}  // namespace tessera
