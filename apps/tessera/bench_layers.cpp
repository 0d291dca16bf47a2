// tessera bench LAYERS.txt: how long convolutions take, beside what the processor can do at best.

#include "bench_layers.h"

#include "progress.h"
#include "run_once.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/io/layer_file.h"
#include "tessera/report/units.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"
#include "tessera/simd/peak.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace tessera::cli {
namespace {

constexpr const char* kTimed =
    "whole runs, N C H W in and out: conversions of order are part of them, and left out of kernel_ms";
constexpr double kBlockSeconds = 0.02, kPeakSeconds = 0.003;
constexpr std::size_t kFewestRuns = 5;

struct LayerTime {
  std::string kernel;
  double median_s = 0, min_s = 0;
  double kernel_s = 0;  // of the steps that compute, without conversions between orders
  double peak_flop_per_s = 0;
  std::size_t runs = 0;
};

LayerTime time_layer(const ConvLayer& layer, const BenchLayersOptions& options, const SessionOptions& how) {
  const Session session(make_layer(layer), how);
  const std::vector<Array> inputs{random_array(session.inputs()[0].type, 0)};
  for (int i = 0; i < 2; ++i) session.run(inputs);
  LayerTime time;
  std::vector<double> seconds;
  double spent = 0;
  // Runs and the loop that they are held against take turns: a machine that slows down slows both.
  while (seconds.size() < kFewestRuns || spent < options.seconds) {
    const double peak = cpu::measure_flop_per_s(session.isa(), session.threads(), kPeakSeconds);
    time.peak_flop_per_s = std::max(time.peak_flop_per_s, peak);
    double block = 0;
    do {
      seconds.push_back(run_once(session, inputs));
      block += seconds.back();
    } while (block < kBlockSeconds);
    spent += block;
  }
  std::sort(seconds.begin(), seconds.end());
  time.median_s = seconds[seconds.size() / 2];
  time.min_s = seconds.front();
  time.runs = seconds.size();
  const SessionProfile profile =
      session.profile(inputs, static_cast<int>(std::min<std::size_t>(seconds.size(), 20)), 1);
  for (const ProfiledStep& step : profile.steps) {
    if (step.node.empty()) continue;
    time.kernel += (time.kernel.empty() ? "" : "+") + step.kernel;
    time.kernel_s += step.seconds;
  }
  return time;
}

}  // namespace

void bench_layers(const BenchLayersOptions& options, const Context& context) {
  std::vector<ConvLayer> layers = load_layers(options.file);
  std::erase_if(layers, [&](const ConvLayer& layer) { return layer.name.find(options.filter) == std::string::npos; });
  check(!layers.empty(), Code::not_found, "no name of a layer in {} has '{}' in it", options.file, options.filter);
  const SessionOptions how = session_options(options.session);
  Table table({{.name = "layer", .key = "name"},
               {.name = "median", .key = "median_ms", .unit = "ms", .align = Align::right},
               {.name = "min", .key = "min_ms", .unit = "ms", .align = Align::right},
               {.name = "kernel alone", .key = "kernel_ms", .unit = "ms", .align = Align::right},
               {.name = "GFLOP/s", .key = "gflops", .align = Align::right},
               {.name = "% of peak", .key = "peak_percent", .align = Align::right},
               {.name = "kernel"}});
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  {
    Progress progress("layers", layers.size(), context.quiet);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const ConvLayer& layer = layers[i];
      progress.at(i, layer.name);
      const LayerTime time = time_layer(layer, options, how);
      const double gflops = layer.flops() / time.median_s * 1e-9;
      const double percent = 100 * layer.flops() / time.min_s / time.peak_flop_per_s;
      const auto ms = [](double s) { return Cell(s * 1e3, fmt::format("{:.3f}", s * 1e3)); };
      table.add_row({layer.name, ms(time.median_s), ms(time.min_s), ms(time.kernel_s),
                     Cell(gflops, fmt::format("{:.1f}", gflops)), Cell(percent, fmt::format("{:.1f}", percent)),
                     time.kernel});
      rows.push_back({{"name", layer.name},
                      {"median_ms", time.median_s * 1e3},
                      {"min_ms", time.min_s * 1e3},
                      {"kernel_ms", time.kernel_s * 1e3},
                      {"gflops", gflops},
                      {"kernel", time.kernel},
                      {"peak_percent", percent},
                      {"peak_gflops", time.peak_flop_per_s * 1e-9},
                      {"flops", layer.flops()},
                      {"runs", time.runs},
                      {"times", layer.times}});
    }
  }
  const Isa isa = how.isa.value_or(active_isa());
  const int threads = how.threads > 0 ? how.threads : max_threads();
  if (context.format == Format::json) {
    const nlohmann::ordered_json out{{"schema", 1},        {"kind", "measured"}, {"timed", kTimed},
                                     {"threads", threads}, {"isa", name(isa)},   {"dtype", options.session.dtype},
                                     {"rows", rows}};
    context.print(out.dump(1) + "\n");
    return;
  }
  context.print(table);
  if (!context.quiet && context.format == Format::table)
    context.print(
        fmt::format("\nmeasured on this machine, {} with {}\nmedian, min: {}\n"
                    "% of peak: the fastest run, of float32 multiply-adds in registers, measured by turns with it\n",
                    threads == 1 ? "1 thread" : fmt::format("{} threads", threads), name(isa), kTimed));
}

void bench_peak(const SessionArgument& session, const Context& context) {
  const SessionOptions how = session_options(session);
  const Isa isa = how.isa.value_or(active_isa());
  const int threads = how.threads > 0 ? how.threads : max_threads();
  const cpu::Peak peak = cpu::measure_peak(isa, threads, 1);
  Table table({{.name = "isa"},
               {.name = "threads", .align = Align::right},
               {.name = "float32 multiply-adds", .key = "gflops", .unit = "GFLOP/s", .align = Align::right},
               {.name = "read from memory", .key = "read_gb_per_s", .unit = "GB/s", .align = Align::right}});
  const auto giga = [](double value) { return Cell(value * 1e-9, fmt::format("{:.1f}", value * 1e-9)); };
  table.add_row({name(isa), threads, giga(peak.flop_per_s), giga(peak.read_bytes_per_s)});
  context.print(table);
}

}  // namespace tessera::cli
