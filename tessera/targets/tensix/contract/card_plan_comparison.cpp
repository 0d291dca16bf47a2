// Two plans, layer by layer.

#include "tessera/targets/tensix/contract/card_views.h"

#include "tessera/report/table.h"
#include "tessera/report/table_rows.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/contract/card_plan_table.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/step_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace tessera::tensix {
namespace {

Cell change_cell(double first, double second) {
  const double more = second - first;
  if (more == 0) return Cell(0.0, "=");
  const std::string part = first > 0 ? fmt::format(" ({:+.1f}%)", 100 * more / first) : "";
  return Cell(more, fmt::format("{}{}{}", more < 0 ? "-" : "+", format_time(std::abs(more)), part));
}

std::int64_t reshards_of(const PlannedStep* step) {
  std::int64_t count = 0;
  if (step != nullptr)
    for (const PlannedMove& move : step->moves) count += move.kind == PlannedMove::Kind::reshard;
  return count;
}

// All of them, or those that differ.
Table layer_table(const PlanDifference& difference, bool all) {
  Table table({{.name = "node"},
               {.name = "differs"},
               {.name = "config A", .key = "config_a"},
               {.name = "config B", .key = "config_b"},
               {.name = "result A", .key = "result_a"},
               {.name = "result B", .key = "result_b"},
               {.name = "moves A", .key = "moves_a"},
               {.name = "moves B", .key = "moves_b"},
               {.name = "reshards A", .key = "reshards_a", .align = Align::right},
               {.name = "reshards B", .key = "reshards_b", .align = Align::right},
               {.name = "time A", .key = "total_ns_a", .align = Align::right},
               {.name = "time B", .key = "total_ns_b", .align = Align::right},
               {.name = "B - A", .key = "more_ns", .align = Align::right},
               {.name = "PCC A", .key = "pcc_a", .align = Align::right},
               {.name = "PCC B", .key = "pcc_b", .align = Align::right}});
  const auto text = [](const PlannedStep* a, const PlannedStep* b, bool second, auto of) {
    const PlannedStep* step = second ? b : a;
    if (step == nullptr) return Cell();
    const std::string own = of(*step);
    return second && a != nullptr && of(*a) == own ? Cell(own, own.empty() ? "" : "=") : Cell(own);
  };
  const auto config = [](const PlannedStep& s) { return s.predicted.config; };
  for (const LayerDifference& layer : difference.layers) {
    if (!all && !layer.differs()) continue;
    const PlannedStep *a = layer.steps[0], *b = layer.steps[1];
    std::vector<std::string> what;
    if (a == nullptr) what.emplace_back("only in B");
    if (b == nullptr) what.emplace_back("only in A");
    if (layer.config) what.emplace_back("config");
    if (layer.placement) what.emplace_back("placement");
    if (layer.moves) what.emplace_back("moves");
    if (layer.time) what.emplace_back("time");
    if (layer.pcc) what.emplace_back("PCC");
    const double first = a ? total_ns(*a) : 0, second = b ? total_ns(*b) : 0;
    table.add_row({layer.node, fmt::format("{}", fmt::join(what, ", ")), text(a, b, false, config),
                   text(a, b, true, config), text(a, b, false, result_text), text(a, b, true, result_text),
                   text(a, b, false, moves_text), text(a, b, true, moves_text), reshards_of(a), reshards_of(b),
                   kernel_time_cell(first), kernel_time_cell(second), change_cell(first, second),
                   accuracy_cell(a ? a->pcc : std::nullopt), accuracy_cell(b ? b->pcc : std::nullopt)});
  }
  return table;
}

Table total_table(const CardPlan& a, const CardPlan& b, const PlanDifference& difference) {
  Table table({{.name = "of the network", .key = "what"},
               {.name = "A", .key = "a", .align = Align::right},
               {.name = "B", .key = "b", .align = Align::right},
               {.name = "B - A", .key = "more", .align = Align::right}});
  const auto time = [&](const char* what, double first, double second) {
    table.add_row({what, kernel_time_cell(first), kernel_time_cell(second), change_cell(first, second)});
  };
  const auto count = [&](const char* what, std::int64_t first, std::int64_t second) {
    const std::int64_t more = second - first;
    table.add_row(
        {what, Cell(first, format_count(first)), Cell(second, format_count(second)),
         Cell(more, more == 0 ? "=" : fmt::format("{}{}", more > 0 ? "+" : "-", format_count(std::abs(more))))});
  };
  time("kernels", a.kernels_ns, b.kernels_ns);
  time("  of them moves", static_cast<double>(a.passes()) * difference.totals[0].moves_ns,
       static_cast<double>(b.passes()) * difference.totals[1].moves_ns);
  time("device", a.device_ns, b.device_ns);
  time("end to end", a.end_to_end_ns, b.end_to_end_ns);
  count("programs", a.programs, b.programs);
  count("reshards", difference.totals[0].reshards, difference.totals[1].reshards);
  count("reshards within convolutions", difference.totals[0].inner_reshards, difference.totals[1].inner_reshards);
  count("spills", difference.totals[0].spills, difference.totals[1].spills);
  count("restores", difference.totals[0].restores, difference.totals[1].restores);
  count("L1 peak [B]", a.l1_peak_bytes, b.l1_peak_bytes);
  table.add_row({"PCC", accuracy_cell(a.pcc), accuracy_cell(b.pcc),
                 a.pcc && b.pcc ? Cell(*b.pcc - *a.pcc, fmt::format("{:+.6f}", *b.pcc - *a.pcc)) : Cell()});
  return table;
}

}  // namespace

View compare_card_plans(const CardPlan& a, const CardPlan& b, const std::array<std::string, 2>& files) {
  const PlanDifference difference = compare_plans(a, b);
  const Table layers = layer_table(difference, true), totals = total_table(a, b, difference);
  const nlohmann::json out = {{"schema", 1},
                              {"a", files[0]},
                              {"b", files[1]},
                              {"different_layers", difference.different()},
                              {"remarks", difference.remarks},
                              {"layers", table_rows(layers)},
                              {"totals", table_rows(totals)}};
  std::string text =
      fmt::format("\nA: {}\nB: {}\n{} of {} layers differ; times are predicted, moves before a layer are in its time\n",
                  files[0], files[1], difference.different(), difference.layers.size());
  for (const std::string& remark : difference.remarks) text += fmt::format("beside that: {}\n", remark);
  View view;
  view.parts.push_back({.table = layers, .people = layer_table(difference, false)});
  view.parts.push_back({.table = totals, .after = std::move(text)});
  view.json = out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return view;
}

}  // namespace tessera::tensix
