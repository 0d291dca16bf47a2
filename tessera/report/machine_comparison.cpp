#include "tessera/report/machine_comparison.h"

#include "tessera/core/text.h"
#include "tessera/report/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

constexpr double kSecondsPerHour = 3600, kMillion = 1e6;

Cell milliseconds(double seconds) { return Cell(seconds * 1e3, fmt::format("{:.3g}", seconds * 1e3)); }

// The word that most of the time has, and which part of it.
std::pair<std::string, double> most_of(const std::map<std::string, double>& seconds) {
  std::pair<std::string, double> most{"", 0};
  double all = 0;
  for (const auto& [word, time] : seconds) {
    all += time;
    if (time > most.second) most = {word, time};
  }
  if (all > 0) most.second /= all;
  return most;
}

}  // namespace

std::optional<double> MachineRow::price_per_million() const {
  if (!price_per_hour || frames_per_s() <= 0) return std::nullopt;
  return *price_per_hour / kSecondsPerHour / frames_per_s() * kMillion;
}

MachineRow machine_row(const std::string& machine, const std::string& title, const NetworkPlan& plan,
                       std::optional<double> measured_s) {
  MachineRow row{.machine = machine, .title = title};
  const PlanTotals totals = plan.totals();
  row.frames = totals.frames;
  row.device_s = measured_s.value_or(totals.device_s);
  if (totals.end_to_end_s > 0) row.end_to_end_s = totals.end_to_end_s;
  std::map<std::string, double> bounds, bases;
  for (const StepView& step : plan.steps()) {
    bounds[step.bound.resource] += step.time_s;
    bases[std::string(name(step.basis))] += step.time_s;
  }
  std::tie(row.bound, row.bound_fraction) = most_of(bounds);
  row.basis = measured_s ? std::string(name(Basis::measured)) : most_of(bases).first;
  double fullest = -1;
  for (const MemoryUse& memory : plan.memory()) {
    const double part = memory.limit_bytes && *memory.limit_bytes > 0
                            ? static_cast<double>(memory.peak_bytes) / static_cast<double>(*memory.limit_bytes)
                            : 0;
    if (part <= fullest) continue;
    fullest = part;
    row.memory = memory.memory;
    row.memory_bytes = memory.peak_bytes;
    row.memory_limit_bytes = memory.limit_bytes;
  }
  row.pcc = plan.accuracy().pcc;
  row.stopped = plan.stopped().has_value();
  return row;
}

void sort_by_rate(std::vector<MachineRow>& rows) {
  std::ranges::stable_sort(rows, [](const MachineRow& a, const MachineRow& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.frames_per_s() > b.frames_per_s();
  });
}

Table machine_table(std::span<const MachineRow> rows) {
  const bool priced = std::ranges::any_of(rows, [](const MachineRow& row) { return row.price_per_hour.has_value(); });
  const bool accurate = std::ranges::any_of(rows, [](const MachineRow& row) { return row.pcc.has_value(); });
  std::vector<Column> columns{
      {.name = "machine"},
      {.name = "batch", .align = Align::right, .detail = 2},
      {.name = "time", .key = "device_ms", .unit = "ms", .align = Align::right},
      {.name = "frames/s", .key = "frames_per_s", .align = Align::right},
      {.name = "basis"},
      {.name = "bound by", .key = "bound"},
      {.name = "part", .key = "bound_fraction", .align = Align::right, .detail = 3},
      {.name = "with host", .key = "end_to_end_ms", .unit = "ms", .align = Align::right, .detail = 2},
      {.name = "memory", .key = "memory_bytes", .align = Align::right, .detail = 1},
      {.name = "of", .key = "memory", .detail = 3},
      {.name = "limit", .key = "memory_limit_bytes", .align = Align::right, .detail = 3}};
  if (accurate) columns.push_back({.name = "PCC", .key = "pcc", .align = Align::right});
  if (priced) columns.push_back({.name = "price of 10^6", .key = "price_per_million_frames", .align = Align::right});
  columns.push_back({.name = "note"});
  Table table(std::move(columns));
  for (const MachineRow& row : rows) {
    std::vector<Cell> cells{row.machine};
    const bool planned = row.refusal.empty();
    const auto cell = [&](Cell value) { cells.push_back(planned ? std::move(value) : Cell()); };
    const double rate = row.frames_per_s();
    cell(row.frames);
    cell(milliseconds(row.device_s));
    cell(Cell(rate, fmt::format("{:.4g}", rate)));
    cell(row.basis);
    cell(row.bound);
    cell(Cell(row.bound_fraction, fmt::format("{:.0f} %", 100 * row.bound_fraction)));
    cell(row.end_to_end_s ? milliseconds(*row.end_to_end_s) : Cell());
    cell(Cell(row.memory_bytes, format_bytes(static_cast<double>(row.memory_bytes))));
    cell(row.memory);
    cell(row.memory_limit_bytes
             ? Cell(*row.memory_limit_bytes, format_bytes(static_cast<double>(*row.memory_limit_bytes)))
             : Cell());
    if (accurate) cell(row.pcc ? Cell(*row.pcc, fmt::format("{:.4f}", *row.pcc)) : Cell());
    if (priced) {
      const auto price = row.price_per_million();
      cell(price ? Cell(*price, fmt::format("{:.3g}", *price)) : Cell());
    }
    cells.push_back(!planned      ? Cell(row.refusal)
                    : row.stopped ? Cell(fmt::format("search stopped after {:.1f} s", row.planning_s))
                                  : Cell(""));
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace tessera
