#include "tessera/fleet/fleet_table.h"

#include "tessera/report/units.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace tessera::fleet {
namespace {

Cell ms_cell(double ns) { return Cell(ns * 1e-6, fmt::format("{:.3f}", ns * 1e-6)); }
Cell percent_cell(double share, int digits = 1) { return Cell(share, fmt::format("{:.{}f}%", 100 * share, digits)); }
Cell rate_cell(double rate) {
  return Cell(rate, rate < 100 ? fmt::format("{:.1f}", rate) : format_count(std::llround(rate)));
}
Cell counted_cell(std::int64_t count) { return Cell(count, format_count(count)); }
Column right(std::string name, std::string key, std::string unit = "") {
  return {std::move(name), std::move(key), std::move(unit), Align::right};
}

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();  // leaves a gap in a picture
constexpr ServingResult kNotServed{.mean_ns = kNoNumber,
                                   .p50_ns = kNoNumber,
                                   .p95_ns = kNoNumber,
                                   .p99_ns = kNoNumber,
                                   .p999_ns = kNoNumber,
                                   .mean_batch = kNoNumber};

}  // namespace

Table fleet_table(const std::vector<FleetRow>& rows) {
  Table table({right("cards", "cards"),
               right("chips", "chips"),
               right("hosts", "hosts"),
               right("frames at a time", "frames"),
               right("frames/s", "frames_per_s"),
               right("efficiency", "efficiency"),
               right("batch every", "interval_ms", "ms"),
               right("first result", "latency_ms", "ms"),
               right("weights", "weights_ms", "ms"),
               {.name = "weights by", .key = "weights_by"},
               {.name = "bottleneck"},
               {.name = "kind"}});
  for (const FleetRow& row : rows) {
    const DataParallel& d = row.run;
    table.add_row({counted_cell(d.topology.cards()), counted_cell(d.topology.chips), counted_cell(d.topology.hosts()),
                   counted_cell(d.frames), rate_cell(d.frames_per_s), percent_cell(d.efficiency),
                   ms_cell(d.interval_ns), ms_cell(d.latency_ns), ms_cell(row.weights.total_ns),
                   row.weights.over_ethernet ? "PCIe, Ethernet" : "PCIe", d.bottleneck, "simulated"});
  }
  return table;
}

Table serving_table(const std::vector<ServingRow>& rows) {
  Table table({right("cards", "cards"),
               right("load", "load"),
               right("requests/s", "requests_per_s"),
               right("p50", "p50_ms", "ms"),
               right("p95", "p95_ms", "ms"),
               right("p99", "p99_ms", "ms"),
               right("p99.9", "p999_ms", "ms"),
               right("queue", "mean_queue"),
               right("longest", "max_queue"),
               right("busy", "utilization"),
               right("in a batch", "mean_batch"),
               {.name = "capacity by", .key = "capacity_by"},
               {.name = "kind"}});
  for (const ServingRow& row : rows) {
    const ServingResult r = row.result.value_or(ServingResult{});
    const auto ms = [&](double ns) { return row.result ? ms_cell(ns) : Cell(); };
    const auto number = [&](double value) { return row.result ? Cell(value, fmt::format("{:.1f}", value)) : Cell(); };
    table.add_row({counted_cell(row.cards), percent_cell(row.load), rate_cell(row.options.requests_per_s), ms(r.p50_ns),
                   ms(r.p95_ns), ms(r.p99_ns), ms(r.p999_ns), number(r.mean_queue),
                   row.result ? counted_cell(static_cast<std::int64_t>(r.max_queue)) : Cell(),
                   row.result ? percent_cell(r.utilization) : Cell(), number(r.mean_batch),
                   row.network ? "network" : "chips", row.result ? "simulated" : "cannot keep up"});
  }
  return table;
}

Table failure_table(const std::vector<FailureRow>& rows, bool served, bool failing) {
  std::vector<Column> columns{right("cards", "cards"),
                              right("spares", "spares"),
                              right("failures/day", "failures_per_day"),
                              right("all places filled", "full_share"),
                              right("places filled", "mean_share"),
                              right("cards 99.9 % of the time", "cards_999")};
  if (served) {
    columns.push_back(right("load", "load"));
    columns.push_back(right("p99.9", "p999_ms", "ms"));
    columns.push_back(right("p99.9 with those", "p999_few_ms", "ms"));
  }
  if (failing) {
    columns.push_back(right("p99.9 failing", "p999_failing_ms", "ms"));
    columns.push_back(right("failures seen", "failures"));
    columns.push_back(right("run again", "restarted"));
  }
  columns.push_back({.name = "kind"});
  Table table(std::move(columns));
  for (const FailureRow& row : rows) {
    const Availability& a = row.share;
    std::vector<Cell> cells{counted_cell(a.cards),
                            counted_cell(a.spares),
                            Cell(a.failures_per_day, fmt::format("{:.3g}", a.failures_per_day)),
                            percent_cell(a.full_share, 3),
                            percent_cell(a.mean_share, 4),
                            counted_cell(a.cards_999)};
    const auto optional_ms = [](const std::optional<double>& ns) { return ns ? ms_cell(*ns) : Cell(); };
    if (served) {
      cells.push_back(percent_cell(row.load));
      cells.push_back(optional_ms(row.p999_all_ns));
      cells.push_back(row.p999_few_ns ? ms_cell(*row.p999_few_ns) : Cell("cannot keep up"));
    }
    if (failing) {
      cells.push_back(row.failing ? ms_cell(row.failing->p999_ns) : Cell());
      cells.push_back(row.failing ? counted_cell(row.failing->failures) : Cell());
      cells.push_back(row.failing ? counted_cell(row.failing->restarted) : Cell());
    }
    cells.emplace_back("simulated");
    table.add_row(std::move(cells));
  }
  return table;
}

ScalingPicture fleet_picture(const FleetFigures& done, const std::string& title) {
  ScalingPicture p{.title = title, .note = "simulated by tessera simulate; docs/fleet.md says how"};
  const std::size_t loads = done.served.size() / done.rows.size();
  if (done.rows.size() > 1 || loads <= 1) {
    p.x_title = "cards";
    p.logarithmic_x = true;
    ScalingPicture::Series rate{"frames/s"}, ideal{"as each alone"}, efficiency{"%"};
    for (const FleetRow& row : done.rows) {
      p.x.push_back(static_cast<double>(row.run.topology.cards()));
      rate.values.push_back(row.run.frames_per_s);
      ideal.values.push_back(row.run.frames_per_s / row.run.efficiency);
      efficiency.values.push_back(100 * row.run.efficiency);
    }
    p.panels.push_back({"frames a second", true, {rate, ideal}});
    p.panels.push_back({"efficiency against a chip alone (%)", false, {efficiency}});
    for (std::size_t l = 0; l < loads; ++l) {
      ScalingPicture::Panel panel{
          fmt::format("time of a request at a load of {:.0f} % (ms)", 100 * done.served[l].load)};
      panel.series = {{"p50"}, {"p99"}, {"p99.9"}};
      for (std::size_t i = l; i < done.served.size(); i += loads) {
        const ServingResult r = done.served[i].result.value_or(kNotServed);
        panel.series[0].values.push_back(r.p50_ns * 1e-6);
        panel.series[1].values.push_back(r.p99_ns * 1e-6);
        panel.series[2].values.push_back(r.p999_ns * 1e-6);
      }
      p.panels.push_back(std::move(panel));
    }
    return p;
  }
  p.x_title = "load, share of what the fleet can serve";
  ScalingPicture::Panel times{"time of a request (ms)", false, {{"p50"}, {"p95"}, {"p99"}, {"p99.9"}}};
  ScalingPicture::Panel batches{"requests in a batch", false, {{"mean"}}};
  for (const ServingRow& row : done.served) {
    p.x.push_back(row.load);
    const ServingResult r = row.result.value_or(kNotServed);
    const double values[] = {r.p50_ns, r.p95_ns, r.p99_ns, r.p999_ns};
    for (std::size_t s = 0; s < 4; ++s) times.series[s].values.push_back(values[s] * 1e-6);
    batches.series[0].values.push_back(r.mean_batch);
  }
  p.panels = {std::move(times), std::move(batches)};
  return p;
}

}  // namespace tessera::fleet
