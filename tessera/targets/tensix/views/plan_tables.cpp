#include "tessera/targets/tensix/views/plan_tables.h"

#include "tessera/core/text.h"
#include "tessera/report/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

Cell share_cell(double share) { return Cell(share, fmt::format("{:.1f}%", 100 * share)); }
Cell text_or_none(std::string_view text) { return text.empty() ? Cell() : Cell(text); }

}  // namespace

std::vector<PlanFact> plan_facts(const PlanReport& r) {
  const auto rate = [&](double ns) { return fmt::format("{:.0f} frames/s", r.frames_per_s(ns)); };
  std::vector<PlanFact> facts;
  facts.push_back({"device time", format_time(r.device_ns), fmt::format("{}, predicted", rate(r.device_ns))});
  facts.push_back({"end to end", format_time(r.end_to_end_ns),
                   fmt::format("{}, predicted; {}, {}", rate(r.end_to_end_ns), r.metal_trace ? "trace" : "no trace",
                               counted(r.command_queues, "queue"))});
  facts.push_back({"kernels alone", format_time(r.kernels_ns),
                   fmt::format("{} steps, {} programs, predicted", r.steps.size(), r.programs)});
  const std::size_t fullest = r.fullest_step();
  facts.push_back(
      {"peak of L1",
       r.l1_limit_bytes > 0
           ? fmt::format("{:.0f} %", 100 * static_cast<double>(r.l1_peak_bytes) / static_cast<double>(r.l1_limit_bytes))
           : "-",
       fmt::format("{} of {} B of a core{}, exact", format_count(r.l1_peak_bytes), format_count(r.l1_limit_bytes),
                   fullest == PlanReport::kNone ? "" : fmt::format(", in {}", r.steps[fullest].node))});
  facts.push_back({"PCC", r.pcc ? fmt::format("{:.6f}", *r.pcc) : "not measured",
                   r.min_pcc > 0 ? fmt::format("at least {:g} was asked for; simulated", r.min_pcc)
                                 : "against float32; no limit was asked for"});
  facts.push_back({"batch", fmt::format("{}", r.batch),
                   fmt::format("{}{}", r.cards > 1 ? fmt::format("on each of {} cards; ", r.cards) : "",
                               fmt::join(r.inputs, "; "))});
  return facts;
}

Table plan_step_table(const PlanReport& r, bool moves) {
  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "op"},
               {.name = "time", .key = "kernel_ns", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "layout", .key = "place"},
               {.name = "cores", .align = Align::right},
               {.name = "dtype"},
               {.name = "weights", .key = "weights_dtype"},
               {.name = "fidelity"},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "L1 peak", .key = "l1_peak_bytes", .unit = "B", .align = Align::right},
               {.name = "config"},
               {.name = "basis"}});
  for (std::size_t i = 0; i < r.steps.size(); ++i) {
    const PlanReport::Step& s = r.steps[i];
    const auto number = static_cast<std::int64_t>(i + 1);
    if (moves)
      for (const PlanReport::Move& m : s.moves)
        table.add_row({number, m.value, m.kind, Cell(m.ns, format_time(m.ns)),
                       r.kernels_ns > 0 ? share_cell(m.ns / r.kernels_ns) : Cell(), Cell(), Cell(), name(m.to_place),
                       Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), text_or_none(m.why), Cell()});
    const bool timed = s.ns > 0;
    table.add_row({number, s.node, s.op, timed ? Cell(s.ns, format_time(s.ns)) : Cell(),
                   timed ? share_cell(s.share) : Cell(), text_or_none(name_or_none(s.bound_by)),
                   timed ? share_cell(s.roof_fraction) : Cell(), name(s.place), s.cores > 0 ? Cell(s.cores) : Cell(),
                   text_or_none(s.dtype), text_or_none(s.weights_dtype), text_or_none(name_or_none(s.fidelity)),
                   s.pcc ? Cell(*s.pcc, fmt::format("{:.6f}", *s.pcc)) : Cell(),
                   s.l1_peak_bytes > 0 ? Cell(s.l1_peak_bytes, format_count(s.l1_peak_bytes)) : Cell(),
                   text_or_none(s.config), timed ? Cell(name(s.basis)) : Cell()});
  }
  return table;
}

Table plan_part_table(const PlanReport& r) {
  Table table({{.name = "part of a batch's time", .key = "part"},
               {.name = "time", .key = "ns", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "what"}});
  for (const PlanReport::Part& part : r.parts)
    table.add_row({part.name, Cell(part.ns, format_time(part.ns)),
                   r.end_to_end_ns > 0 ? share_cell(part.ns / r.end_to_end_ns) : Cell(), part.what});
  return table;
}

Table plan_alternative_table(const PlanReport& r, std::size_t most_of_a_step) {
  Table table({{.name = "step", .align = Align::right},
               {.name = "node"},
               {.name = "way", .key = "config"},
               {.name = "would take", .key = "ns", .align = Align::right},
               {.name = "of L1", .key = "l1_bytes", .unit = "B", .align = Align::right},
               {.name = "refused: why", .key = "refusal"}});
  for (std::size_t i = 0; i < r.steps.size(); ++i)
    for (std::size_t a = 0; a < std::min(most_of_a_step, r.steps[i].alternatives.size()); ++a) {
      const WeighedConfig& each = r.steps[i].alternatives[a];
      table.add_row({static_cast<std::int64_t>(i + 1), r.steps[i].node, each.config + (each.chosen ? " (chosen)" : ""),
                     each.refusal.empty() ? Cell(each.ns, format_time(each.ns)) : Cell(),
                     each.l1_bytes > 0 ? Cell(each.l1_bytes, format_count(each.l1_bytes)) : Cell(),
                     text_or_none(each.refusal)});
    }
  return table;
}

}  // namespace tessera::tensix
