#include "tessera/targets/tensix/contract/card_plan_table.h"

#include "tessera/core/text.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/plan/batch_choice.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/step_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

// Steps that the card has no operator for: nobody knows their time, and no total has it.
std::int64_t host_steps(const CardPlan& plan) {
  return std::ranges::count_if(plan.steps, [](const PlannedStep& step) { return step.role == CallRole::host; });
}

}  // namespace

Cell kernel_time_cell(double ns) { return ns > 0 ? Cell(ns, format_time(ns)) : Cell(); }
Cell bytes_of_core(std::int64_t bytes) { return bytes == 0 ? Cell(bytes, "-") : Cell(bytes, format_count(bytes)); }
Cell share_cell(double share) { return Cell(share, fmt::format("{:.1f}%", 100 * share)); }
Cell accuracy_cell(const std::optional<double>& pcc) { return pcc ? Cell(*pcc, fmt::format("{:.6f}", *pcc)) : Cell(); }

std::string moves_text(const PlannedStep& step) {
  std::string text;
  for (const PlannedMove& move : step.moves)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(move.kind), move.value);
  return text;
}

std::string result_text(const PlannedStep& step) {
  return fmt::format("{} {}", name(step.result.dtype), place_text(step.result.memory));
}

Table card_plan_table(const CardPlan& plan) {
  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "op"},
               {.name = "config"},
               {.name = "result"},
               {.name = "moves before", .key = "moves"},
               {.name = "cores", .align = Align::right},
               {.name = "L1 peak", .key = "l1_peak_bytes", .unit = "B", .align = Align::right},
               {.name = "time", .key = "kernel_ns", .align = Align::right},
               {.name = "with moves", .key = "total_ns", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "others", .key = "alternatives", .align = Align::right},
               {.name = "why"}});
  const CardPlanTotals totals = totals_of(plan);
  const double all = totals.steps_ns + totals.moves_ns;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    const bool timed = step.predicted.time.ns > 0;
    const double total = total_ns(step);
    table.add_row({s + 1, step.node, step.op, step.predicted.config, result_text(step), moves_text(step),
                   step.predicted.cores == 0 ? Cell() : Cell(step.predicted.cores),
                   bytes_of_core(step.predicted.l1_peak_bytes), kernel_time_cell(step.predicted.time.ns),
                   kernel_time_cell(total), all > 0 ? share_cell(total / all) : Cell(),
                   timed ? Cell(name(step.predicted.time.bound_by)) : Cell(),
                   timed ? share_cell(step.predicted.time.roof_fraction()) : Cell(), accuracy_cell(step.pcc),
                   step.alternatives.size(), step.why});
  }
  return table;
}

std::string card_plan_summary(const CardPlan& plan) {
  const CardPlanTotals totals = totals_of(plan);
  const std::int64_t on_host = host_steps(plan);
  const std::int64_t cards = plan.request.mesh;
  const double frames = static_cast<double>(plan.batch * cards);
  const auto rate = [&](double ns) {
    if (on_host > 0) return fmt::format(" and {} on the host", counted(on_host, "step"));
    return ns > 0 ? fmt::format(" ({:.0f} frames/s)", frames / ns * 1e9) : std::string();
  };
  std::string text = fmt::format("{} on {}: batch {}{}, {} in {}, predicted\n", plan.model, plan.machine, plan.batch,
                                 cards == 1 ? "" : fmt::format(" on each of {} cards", cards),
                                 counted(plan.steps.size(), "step"), counted(plan.programs, "program"));
  if (plan.interrupted)
    text += fmt::format("  interrupted when {} of {} operators were weighed: a better plan may exist\n",
                        plan.interrupted->weighed, plan.interrupted->of);
  if (on_host > 0)
    text += fmt::format(
        "  host        {} of {} run there: their time and that of going there and back is not known, and "
        "in none of these totals\n",
        on_host, counted(plan.steps.size(), "step"));
  text += fmt::format("  kernels     {}, {} of it moves\n", format_time(plan.kernels_ns),
                      format_time(static_cast<double>(plan.passes()) * totals.moves_ns));
  text += fmt::format("  device      {}{}\n", format_time(plan.device_ns), rate(plan.device_ns));
  text += fmt::format("  end to end  {}{}: {}, {}, {}\n", format_time(plan.end_to_end_ns), rate(plan.end_to_end_ns),
                      plan.metal_trace ? "traced" : "not traced", counted(plan.command_queues, "command queue"),
                      counted(cards, "card"));
  text += fmt::format("  L1          at most {} of {} B of a core\n", format_count(plan.l1_peak_bytes),
                      format_count(plan.l1_limit_bytes));
  if (plan.pass_images > 0)
    text += fmt::format("  batch       {} of {} images{}; steps and their times are those of a pass\n",
                        counted(plan.passes(), "pass"), plan.pass_images,
                        plan.passes() * plan.pass_images > plan.batch
                            ? fmt::format(", {} of them for nothing", plan.passes() * plan.pass_images - plan.batch)
                            : "");
  if (plan.grouped_images > 1)
    text +=
        fmt::format("  batch       {} images side by side in channels, each a group of its own\n", plan.grouped_images);
  text += fmt::format("  moves       {}, {}, {}{}; {} within convolutions\n", counted(totals.reshards, "reshard"),
                      counted(totals.spills, "spill"), counted(totals.restores, "restore"),
                      totals.slides > 0 ? ", " + counted(totals.slides, "slide") : "",
                      counted(totals.inner_reshards, "reshard"));
  if (plan.pcc) text += fmt::format("  PCC         {:.6f}\n", *plan.pcc);
  return text;
}

nlohmann::json card_plan_summary_json(const CardPlan& plan) {
  const CardPlanTotals totals = totals_of(plan);
  return {{"model", plan.model},
          {"device", plan.machine},
          {"objective", name(plan.request.objective)},
          {"batch", plan.batch},
          {"pass_images", plan.pass_images == 0 ? plan.batch : plan.pass_images},
          {"passes", plan.passes()},
          {"cards", plan.request.mesh},
          {"programs", plan.programs},
          {"host_steps", host_steps(plan)},
          {"kernels_ns", plan.kernels_ns},
          {"moves_ns", static_cast<double>(plan.passes()) * totals.moves_ns},
          {"device_ns", plan.device_ns},
          {"end_to_end_ns", plan.end_to_end_ns},
          {"l1_peak_bytes", plan.l1_peak_bytes},
          {"l1_limit_bytes", plan.l1_limit_bytes},
          {"reshards", totals.reshards},
          {"spills", totals.spills},
          {"restores", totals.restores},
          {"inner_reshards", totals.inner_reshards},
          {"pcc", plan.pcc ? nlohmann::json(*plan.pcc) : nlohmann::json()}};
}

Table card_plan_figures(const CardPlan& plan) {
  std::vector<Column> columns{{.name = "kernels", .key = "kernels_ns", .align = Align::right},
                              {.name = "device", .key = "device_ns", .align = Align::right},
                              {.name = "frames/s", .key = "device_frames_per_s", .align = Align::right},
                              {.name = "end to end", .key = "end_to_end_ns", .align = Align::right},
                              {.name = "frames/s", .key = "end_to_end_frames_per_s", .align = Align::right},
                              {.name = "latency", .key = "latency_ns", .align = Align::right},
                              {.name = "L1 peak", .key = "l1_peak_bytes", .unit = "B", .align = Align::right},
                              {.name = "reshards", .align = Align::right}};
  const bool pcc = plan.request.min_pcc > 0;
  if (pcc) columns.push_back({.name = "PCC", .key = "pcc", .align = Align::right});
  columns.push_back({.name = "bound by", .key = "bound_by"});
  const auto rate = [&](const BatchTime& time) {
    if (host_steps(plan) > 0) return Cell();  // without the host's time there is none
    return Cell(time.frames_per_s(), fmt::format("{:.0f}", time.frames_per_s()));
  };
  const CardPlanTotals totals = totals_of(plan);
  const auto bound = mostly_bound_by(plan);
  std::vector<Cell> cells{kernel_time_cell(plan.kernels_ns),
                          kernel_time_cell(plan.device_ns),
                          rate(batch_time(plan, Objective::device)),
                          kernel_time_cell(plan.end_to_end_ns),
                          rate(batch_time(plan, Objective::end_to_end)),
                          kernel_time_cell(plan.latency_ns),
                          bytes_of_core(plan.l1_peak_bytes),
                          Cell(totals.reshards + totals.inner_reshards)};
  if (pcc) cells.push_back(accuracy_cell(plan.pcc));
  cells.push_back(bound ? Cell(bound->by, fmt::format("{} {:.0f}%", bound->by, 100 * bound->share)) : Cell());
  Table table(std::move(columns));
  table.add_row(std::move(cells));
  return table;
}

}  // namespace tessera::tensix
