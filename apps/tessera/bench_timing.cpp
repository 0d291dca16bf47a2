// tessera bench timing: how good the times of simulated cards are.

#include "bench.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/report/timing_picture.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/time/fit/timing_fit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tessera::cli {
namespace {

using tensix::MeasuredOp;
using tensix::MeasuredOps;
using tensix::Prices;
using tensix::TimingModel;

struct Errors {
  std::vector<double> values;  // predicted / measured - 1

  static double at(std::vector<double> sorted, double share) {
    std::ranges::sort(sorted);
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(low);
    return low + 1 < sorted.size() ? sorted[low] * (1 - part) + sorted[low + 1] * part : sorted[low];
  }
  std::vector<double> sizes() const {
    std::vector<double> out;
    for (const double value : values) out.push_back(std::abs(value));
    return out;
  }
  double median() const { return at(sizes(), 0.5); }
  double p90() const { return at(sizes(), 0.9); }
  double bias() const { return at(values, 0.5); }
};

Cell percent(double share, bool sign = false) {
  return Cell(share, sign ? fmt::format("{:+.1f}%", 100 * share) : fmt::format("{:.1f}%", 100 * share));
}
Cell time_cell(double ns) { return Cell(ns, format_time(ns)); }

}  // namespace

void bench_timing(const BenchTimingOptions& options, const Context& context) {
  check(!options.ops.empty() || !options.gemm.empty() || !options.layers.empty(), Code::invalid_argument,
        Hint{"--ops FILE.json, --gemm FILE.csv or --layers FILE.json"}, "no measured times were given");
  if (!options.layers.empty()) {
    check(options.ops.empty() && options.gemm.empty() && !options.fit && options.folds == 0 && options.svg.empty(),
          Code::invalid_argument, "--layers is a separate check: prices are never fitted to networks");
    return bench_networks(options.layers, context);
  }
  MeasuredOps measured;
  if (!options.ops.empty()) measured = tensix::read_measured_ops(options.ops);
  if (!options.gemm.empty()) {
    MeasuredOps more = tensix::read_measured_gemms(options.gemm);
    std::ranges::move(more.rows, std::back_inserter(measured.rows));
    std::ranges::move(more.left_out, std::back_inserter(measured.left_out));
  }
  const std::vector<MeasuredOp>& rows = measured.rows;
  check(!rows.empty(), Code::invalid_argument, "no row can be priced");
  const TimingModel model;
  Prices prices = model.given();
  if (options.fit) {
    std::vector<const MeasuredOp*> all;
    for (const MeasuredOp& row : rows) all.push_back(&row);
    prices = model.fit(all);
    if (options.folds == 0) return context.print(tensix::cost_sections(prices));
  }
  std::vector<double> predicted;
  if (options.folds > 0)
    predicted = model.predicted_by_others(rows, options.folds);
  else
    for (const MeasuredOp& row : rows) predicted.push_back(model.predicted_ns(row, prices));

  std::map<std::string, Errors> by_kind;
  Errors all;
  std::vector<TimingPoint> points;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double error = predicted[i] / rows[i].measured_ns - 1;
    by_kind[rows[i].kind].values.push_back(error);
    all.values.push_back(error);
    points.push_back({rows[i].kind, rows[i].measured_ns, predicted[i]});
  }
  if (!options.svg.empty()) write_file_atomically(options.svg, timing_picture(points));

  if (context.format == Format::json) {
    nlohmann::ordered_json out;
    out["schema"] = 1;
    out["folds"] = options.folds;
    out["rows"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const tensix::StepTime t = model.time(rows[i], prices);
      nlohmann::ordered_json r;
      r["name"] = rows[i].name;
      r["kind"] = rows[i].kind;
      r["machine"] = rows[i].machine;
      r["cores"] = rows[i].work.cores;
      r["measured_ns"] = rows[i].measured_ns;
      r["predicted_ns"] = predicted[i];
      r["error"] = predicted[i] / rows[i].measured_ns - 1;
      r["kernel_ns"] = t.ns;
      r["bound_by"] = name(t.bound_by);
      r["roof_fraction"] = t.roof_fraction();
      r["basis"] = name(t.basis);
      r["fitted"] = t.fitted();
      out["rows"].push_back(std::move(r));
    }
    const auto summary = [](const Errors& e) {
      nlohmann::ordered_json s;
      s["n"] = e.values.size();
      s["median_abs_error"] = e.median();
      s["p90_abs_error"] = e.p90();
      s["bias"] = e.bias();
      return s;
    };
    for (const auto& [kind, errors] : by_kind) out["summary"][kind] = summary(errors);
    out["summary"]["all"] = summary(all);
    out["left_out"] = measured.left_out;
    return context.print(out.dump(1) + "\n");
  }

  Table table({{.name = "operation"},
               {.name = "machine"},
               {.name = "measured", .key = "measured_ns", .align = Align::right},
               {.name = "predicted", .key = "predicted_ns", .align = Align::right},
               {.name = "error", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "basis"}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const tensix::StepTime t = model.time(rows[i], prices);
    table.add_row({rows[i].name, rows[i].machine, time_cell(rows[i].measured_ns),
                   Cell(predicted[i], format_time(predicted[i]) + (t.fitted() ? "" : " ~")),
                   percent(predicted[i] / rows[i].measured_ns - 1, true), name(t.bound_by), percent(t.roof_fraction()),
                   name(t.basis)});
  }
  Table sums({{.name = "kind"},
              {.name = "n", .align = Align::right},
              {.name = "median |error|", .key = "median_abs_error", .align = Align::right},
              {.name = "p90 |error|", .key = "p90_abs_error", .align = Align::right},
              {.name = "bias", .align = Align::right}});
  const auto add = [&](const std::string& kind, const Errors& e) {
    sums.add_row({kind, e.values.size(), percent(e.median()), percent(e.p90()), percent(e.bias(), true)});
  };
  for (const auto& [kind, errors] : by_kind) add(kind, errors);
  add("all", all);
  context.print(table);
  if (context.format == Format::csv) return;
  context.print("\n");
  context.print(sums);
  if (context.quiet) return;
  for (const std::string& sentence : measured.left_out) context.print(fmt::format("left out: {}\n", sentence));
  context.print(
      options.folds > 0
          ? fmt::format("\nEach row is predicted by prices fitted to the other folds ({} folds).\n", options.folds)
          : std::string("\nPrices are those of the machine files.\n"));
  context.print("~ marks operators not measured on this generation of cards.\n");
}

}  // namespace tessera::cli
