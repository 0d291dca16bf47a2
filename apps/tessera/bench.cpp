// tessera bench: how long a network, or each layer of a file, takes.

#include "bench.h"
#include "arguments.h"
#include "command.h"
#include "model_argument.h"
#include "progress.h"

#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/peak.h"
#include "tessera/io/layer_file.h"
#include "tessera/io/samples.h"
#include "tessera/report/units.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

// Seconds that one run takes.
double run_once(const Session& session, const std::vector<Array>& inputs) {
  const auto start = std::chrono::steady_clock::now();
  session.run(inputs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct BenchLayersOptions {
  std::string file, filter;  // only layers whose name contains it
  SessionArgument session;
  double seconds = 0.3;  // for each layer
};

constexpr const char* kTimed =
    "whole runs with N C H W inputs and outputs; layout conversions are included, except in kernel_ms";
constexpr double kBlockSeconds = 0.02, kPeakSeconds = 0.003;
constexpr std::size_t kFewestRuns = 5;

struct LayerTime {
  std::string kernel;
  double median_s = 0, min_s = 0;
  double kernel_s = 0;  // of the steps that compute, without conversions between orders
  double peak_flop_per_s = 0;
  std::size_t runs = 0;
};

LayerTime time_layer(const ConvBlock& layer, const BenchLayersOptions& options, const SessionOptions& how) {
  const Session session(make_layer(layer), how);
  const std::vector<Array> inputs{random_array(session.inputs()[0].type, 0)};
  for (int i = 0; i < 2; ++i) session.run(inputs);
  LayerTime time;
  std::vector<double> seconds;
  double spent = 0;
  // Runs and the loop that they are held against take turns: a machine that slows down slows both.
  while (seconds.size() < kFewestRuns || spent < options.seconds) {
    const double peak = measure_flop_per_s(session.isa(), session.threads(), kPeakSeconds);
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

// A row for each layer of the file.
void bench_layers(const BenchLayersOptions& options, const Context& context) {
  std::vector<ConvBlock> layers = load_layers(options.file);
  std::erase_if(layers, [&](const ConvBlock& layer) { return layer.name.find(options.filter) == std::string::npos; });
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
      const ConvBlock& layer = layers[i];
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
        fmt::format("\nmeasured on this machine, {} with {}\nmedian, min: {}\n% of peak: fastest run relative to the "
                    "peak of float32 multiply-adds in registers, measured in alternation\n",
                    threads == 1 ? "1 thread" : fmt::format("{} threads", threads), name(isa), kTimed));
}

// What the processor can do at best: `tessera bench --peak`.
void bench_peak(const SessionArgument& session, const Context& context) {
  const SessionOptions how = session_options(session);
  const Isa isa = how.isa.value_or(active_isa());
  const int threads = how.threads > 0 ? how.threads : max_threads();
  const Peak peak = measure_peak(isa, threads, 1);
  Table table({{.name = "isa"},
               {.name = "threads", .align = Align::right},
               {.name = "float32 multiply-adds", .key = "gflops", .unit = "GFLOP/s", .align = Align::right},
               {.name = "read from memory", .key = "read_gb_per_s", .unit = "GB/s", .align = Align::right}});
  const auto giga = [](double value) { return Cell(value * 1e-9, fmt::format("{:.1f}", value * 1e-9)); };
  table.add_row({name(isa), threads, giga(peak.flop_per_s), giga(peak.read_bytes_per_s)});
  context.print(table);
}

struct BenchOptions {
  BenchNetworkOptions network;
  bool peak = false;
  std::string filter;
};
constexpr double kNetworkSeconds = 2, kLayerSeconds = 0.3;

void bench(BenchOptions options, const Context& context) {
  const ModelArgument& model = options.network.model;
  check(!options.peak || model.model.empty(), Code::invalid_argument,
        "--peak measures the processor and takes no model, but '{}' was given", model.model);
  if (options.peak) return bench_peak(options.network.session, context);
  check(!model.model.empty(), Code::invalid_argument,
        Hint{"`tessera bench resnet50`, `tessera bench shapes/conv3x3.txt`, or `tessera bench --peak`"},
        "no network and no file of layers was given");
  const bool layers = is_layer_file(model.model);
  if (options.network.seconds == 0) options.network.seconds = layers ? kLayerSeconds : kNetworkSeconds;
  check(layers || options.filter.empty(), Code::invalid_argument, "--filter selects layers of a .txt file");
  if (!layers) return bench_network(options.network, context);
  check(
      model.inputs.empty() && model.shapes.empty() && model.dimensions.empty() && model.batch == 0 &&
          options.network.runs == 0 && options.network.streams == 1 && options.network.session.plan.empty(),
      Code::invalid_argument, Hint{"FILE.txt:NAME takes one of its layers as a network"},
      "a file of layers gives the shapes itself; --input, --shape, --dim, --batch, --runs, --streams and --plan need a "
      "single network");
  bench_layers({model.model, options.filter, options.network.session, options.network.seconds}, context);
}

}  // namespace

void add_bench(CLI::App& app, const Context& context) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure how long a network, or each layer of a file, takes on this machine");
  auto options = std::make_shared<BenchOptions>();
  add_model_argument(*command, options->network.model);
  command->get_option("model")->required(false)->description(
      "An .onnx file, a network of the zoo (resnet50, unet, ...), or layers (shapes/conv3x3.txt)");
  add_session_argument(*command, options->network.session);
  command
      ->add_option("--runs", options->network.runs, "Number of runs; default: as many as fit in --seconds, at least 5")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command
      ->add_option("--seconds", options->network.seconds,
                   "Time for all runs together; default: 2, or 0.3 for each layer")
      ->check(number_between(0, 3600))
      ->type_name("S");
  command
      ->add_option(
          "--streams", options->network.streams,
          "Run so many requests at the same time, each on its share of the threads: more throughput, more latency")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--filter", options->filter, "Only layers whose name contains this text")->type_name("TEXT");
  command->add_flag("--peak", options->peak,
                    "Measure the peak rates of the processor instead: multiply-adds and memory reads");
  CLI::App* timing = command->add_subcommand(
      "timing", "Compare predicted times of a simulated card with times measured on real cards");
  auto measured = std::make_shared<BenchTimingOptions>();
  timing->add_option("--ops", measured->ops, "Profiled operators with their device kernel times")
      ->type_name("FILE.json");
  timing->add_option("--gemm", measured->gemm, "Matmuls with times measured by a loop on the host")
      ->type_name("FILE.csv");
  timing
      ->add_option("--layers", measured->layers,
                   "Networks with the configuration of each layer and the published device time")
      ->type_name("FILE.json");
  timing
      ->add_option("--folds", measured->folds,
                   "Cross-validate: predict each fold with prices fitted to the other folds")
      ->check(CLI::Range(2, 100))
      ->type_name("K");
  timing->add_flag("--fit", measured->fit, "Print the best-fitting prices as groups of a machine file");
  timing->add_option("--svg", measured->svg, "Write a picture of predicted against measured times")
      ->type_name("FILE.svg");
  timing->callback([measured, &context] { bench_timing(*measured, context); });
  command->callback([options, timing, &context] {
    if (!timing->parsed()) bench(*options, context);
  });
}

}  // namespace tessera::cli
