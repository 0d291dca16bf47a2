// Why a step of a plan is as it is.

#include "tessera/targets/tensix/contract/card_views.h"

#include "tessera/core/refusal.h"
#include "tessera/core/text.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/table_rows.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/contract/card_plan_table.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/step_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::tensix {
namespace {

constexpr std::size_t kStepsAround = 3;
constexpr int kBarWidth = 32;

struct Explained {
  const CardPlan& plan;
  std::size_t at = 0;
  std::vector<std::vector<LiveValue>> live;

  const PlannedStep& step() const { return plan.steps[at]; }
};

Table busy_table(const StepTime& time) {
  Table table({{.name = "part"},
               {.name = "busy", .key = "busy_ns", .align = Align::right},
               {.name = "of the step", .key = "share", .align = Align::right}});
  for (const auto& [part, ns] : busy_parts(time))
    table.add_row({name(part), kernel_time_cell(ns), time.ns > 0 ? share_cell(ns / time.ns) : Cell()});
  return table;
}

std::int64_t tensor_bytes(const std::vector<LiveValue>& values) {
  std::int64_t bytes = 0;
  for (const LiveValue& value : values) bytes += value.l1_bytes;
  return bytes;
}

// "[####++====      ]": circular buffers, halo and tensors out of what a core has.
std::string l1_bar(const PlannedStep& step, std::int64_t tensors, std::int64_t limit) {
  std::string out;
  std::int64_t sum = 0;
  for (const auto& [bytes, sign] : {std::pair{step.predicted.circular_buffer_bytes, '#'},
                                    std::pair{step.predicted.halo_bytes, '+'}, std::pair{tensors, '='}}) {
    sum += bytes;
    const double share = limit > 0 ? std::min(1.0, static_cast<double>(sum) / static_cast<double>(limit)) : 0;
    out.resize(std::max(out.size(), static_cast<std::size_t>(std::lround(share * kBarWidth))), sign);
  }
  out.resize(kBarWidth, ' ');
  return "[" + out + "]";
}

// The steps around the one, with what lies in L1 while they run.
Table memory_table(const Explained& e, bool picture) {
  std::vector<Column> columns{{.name = "step", .align = Align::right},
                              {.name = "", .key = "explained"},
                              {.name = "node"},
                              {.name = "op"},
                              {.name = "CBs", .key = "circular_buffer_bytes", .unit = "B", .align = Align::right},
                              {.name = "halo", .key = "halo_bytes", .unit = "B", .align = Align::right},
                              {.name = "tensors", .key = "tensor_bytes", .unit = "B", .align = Align::right},
                              {.name = "peak", .key = "l1_peak_bytes", .unit = "B", .align = Align::right},
                              {.name = "of L1", .key = "l1_share", .align = Align::right}};
  if (picture) columns.push_back({.name = "# CBs  + halo  = tensors", .key = "picture"});
  columns.push_back({.name = "in L1", .key = "values"});
  Table table(std::move(columns));
  const std::size_t first = e.at - std::min(e.at, kStepsAround);
  for (std::size_t s = first; s < std::min(e.plan.steps.size(), e.at + kStepsAround + 1); ++s) {
    const PlannedStep& step = e.plan.steps[s];
    std::vector<std::string> values;
    for (const LiveValue& value : e.live[s])
      if (value.l1_bytes > 0)
        values.push_back(fmt::format("{} {} ({})", value.value, format_count(value.l1_bytes), name(value.role)));
    const std::int64_t tensors = tensor_bytes(e.live[s]), limit = e.plan.l1_limit_bytes;
    std::vector<Cell> cells{
        s + 1,
        Cell(s == e.at, s == e.at ? ">" : ""),
        step.node,
        step.op,
        bytes_of_core(step.predicted.circular_buffer_bytes),
        bytes_of_core(step.predicted.halo_bytes),
        bytes_of_core(tensors),
        bytes_of_core(step.predicted.l1_peak_bytes),
        limit > 0 ? share_cell(static_cast<double>(step.predicted.l1_peak_bytes) / static_cast<double>(limit))
                  : Cell()};
    if (picture) cells.emplace_back(l1_bar(step, tensors, limit));
    cells.emplace_back(fmt::format("{}", fmt::join(values, ", ")));
    table.add_row(std::move(cells));
  }
  return table;
}

// What was chosen, then what can run by its time, then what cannot.
Table alternative_table(const PlannedStep& step) {
  Table table({{.name = "config"},
               {.name = "verdict"},
               {.name = "with moves and gaps", .key = "weighed_ns", .align = Align::right},
               {.name = "against chosen", .key = "more_ns", .align = Align::right},
               {.name = "L1", .key = "l1_bytes", .unit = "B", .align = Align::right},
               {.name = "why", .key = "reason"}});
  const double chosen = weighed_ns(step);
  table.add_row({step.predicted.config, "chosen", kernel_time_cell(chosen), Cell(),
                 bytes_of_core(step.predicted.l1_peak_bytes), step.why});
  std::vector<const WeighedConfig*> others;
  for (const WeighedConfig& other : step.alternatives)
    if (!other.chosen) others.push_back(&other);
  std::stable_sort(others.begin(), others.end(), [](const auto* a, const auto* b) {
    return std::pair(!a->refusal.empty(), a->ns) < std::pair(!b->refusal.empty(), b->ns);
  });
  for (const WeighedConfig* other : others) {
    const bool refused = !other->refusal.empty();
    const double more = other->ns - chosen;
    table.add_row({other->config,
                   refused    ? "refused"
                   : more < 0 ? "faster by itself"
                              : "slower",
                   kernel_time_cell(other->ns),
                   refused || other->ns == 0
                       ? Cell()
                       : Cell(more, fmt::format("{}{}", more < 0 ? "-" : "+", format_time(std::abs(more)))),
                   bytes_of_core(other->l1_bytes),
                   refused    ? other->refusal
                   : more < 0 ? "what it needs of its neighbours costs more"
                              : ""});
  }
  return table;
}

std::string head_text(const Explained& e) {
  const PlannedStep& step = e.step();
  const CardPlanTotals totals = totals_of(e.plan);
  const double all = totals.steps_ns + totals.moves_ns;
  const StepTime& time = step.predicted.time;
  std::string text = fmt::format("{}: {}, step {} of {} of {} on {}\n", step.node, step.op, e.at + 1,
                                 e.plan.steps.size(), e.plan.model, e.plan.machine);
  text += fmt::format("  chosen  {}\n", step.predicted.config);
  text += fmt::format("  why     {}\n", step.why);
  for (const LiveValue& value : e.live[e.at])
    if (value.role == LiveValue::Role::read)
      text += fmt::format("  reads   {} from {}{}\n", value.value, place_text(value.memory),
                          value.made_by == LiveValue::kNetwork
                              ? ", an input of the network"
                              : fmt::format(", made by {}", e.plan.steps[value.made_by].node));
  for (const PlannedMove& move : step.moves)
    text += fmt::format("  before  {} {} to {}, {}{}{}\n", name(move.kind), move.value, place_text(move.to),
                        format_time(move.ns), move.why.empty() ? "" : ": ", move.why);
  text += fmt::format("  makes   {} {} {} {} in {}\n", step.makes, name(step.result.dtype),
                      step.result.shape.to_string(), name(step.result.layout), place_text(step.result.memory));
  if (!step.frees.empty()) text += fmt::format("  frees   {}\n", fmt::join(step.frees, ", "));
  text += fmt::format("  given   {}\n", layer_config_json(step.config));
  if (step.pcc) text += fmt::format("  PCC     {:.6f} against float32\n", *step.pcc);
  if (time.ns > 0)
    text += fmt::format("  time    {} in {} on {}{}, bound by {}, {:.1f} % of the roof ({})\n", format_time(time.ns),
                        counted(step.predicted.programs, "program"), counted(step.predicted.cores, "core"),
                        all > 0 ? fmt::format(", {:.1f} % of all kernels", 100 * time.ns / all) : "",
                        name(time.bound_by), 100 * time.roof_fraction(), name(time.basis));
  if (!step.predicted.note.empty()) text += fmt::format("  note    {}\n", step.predicted.note);
  return text;
}

nlohmann::json explained_json(const Explained& e) {
  const PlannedStep& step = e.step();
  nlohmann::json moves = nlohmann::json::array();
  for (const PlannedMove& move : step.moves)
    moves.push_back({{"kind", name(move.kind)},
                     {"value", move.value},
                     {"to", place_text(move.to)},
                     {"ns", move.ns},
                     {"why", move.why}});
  return {{"schema", 1},
          {"node", step.node},
          {"op", step.op},
          {"step", e.at + 1},
          {"config", step.predicted.config},
          {"given", nlohmann::json::parse(layer_config_json(step.config))},
          {"why", step.why},
          {"reads", step.reads},
          {"makes", step.makes},
          {"frees", step.frees},
          {"result", result_text(step)},
          {"moves", moves},
          {"kernel_ns", step.predicted.time.ns},
          {"bound_by", name(step.predicted.time.bound_by)},
          {"basis", name(step.predicted.time.basis)},
          {"pcc", step.pcc ? nlohmann::json(*step.pcc) : nlohmann::json()},
          {"busy", table_rows(busy_table(step.predicted.time))},
          {"l1", table_rows(memory_table(e, false))},
          {"alternatives", table_rows(alternative_table(step))}};
}

}  // namespace

std::int64_t l1_banks_of(const CardPlan& plan) {
  const auto cores = attempt([&] { return tensix_of(load_machine(plan.machine)).cores(); });
  if (cores) return *cores;
  std::int64_t most = 1;
  for (const PlannedStep& step : plan.steps) most = std::max(most, step.predicted.cores);
  return most;
}

std::size_t find_planned_step(const CardPlan& plan, const std::string& node) {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].node == node || plan.steps[s].makes == node) return s;
    names.push_back(plan.steps[s].node);
  }
  const std::string meant = did_you_mean(node, names);
  constexpr std::size_t kShown = 20;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  fail(Code::not_found, Hint{"a node that was fused is part of the one before it"}, "the plan has no node '{}'{}{}",
       node, meant,
       meant.empty()
           ? fmt::format("; it has {}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "")
           : "");
}

View explain_card_step(const CardPlan& plan, const std::string& node) {
  const Explained e{plan, find_planned_step(plan, node), live_values(plan, l1_banks_of(plan))};
  View view;
  view.parts.push_back({.text = head_text(e) + "\n"});
  if (e.step().predicted.time.ns > 0) view.parts.push_back({.table = busy_table(e.step().predicted.time)});
  view.parts.push_back({.table = memory_table(e, false), .people = memory_table(e, true)});
  view.csv = view.parts.size();
  view.parts.push_back({.table = alternative_table(e.step())});
  view.json = explained_json(e).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return view;
}

}  // namespace tessera::tensix
