// tessera bench: how long a network, or each layer of a file, takes.

#include "bench_layers.h"
#include "bench_timing.h"
#include "command.h"
#include "layer_argument.h"
#include "model_argument.h"
#include "number_argument.h"
#include "progress.h"
#include "run_once.h"

#include "tessera/core/error.h"
#include "tessera/report/units.h"
#include "tessera/session/session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace tessera::cli {
namespace {

struct BenchOptions {
  ModelArgument model;
  SessionArgument session;
  int runs = 0;
  double seconds = 0;  // 0: kNetworkSeconds or kLayerSeconds
  bool peak = false;
  std::string filter;
};
constexpr double kNetworkSeconds = 2, kLayerSeconds = 0.3;

// At least five, then until the time is up; or as many as asked for.
std::vector<double> timed_runs(const Session& session, const std::vector<Array>& inputs, const BenchOptions& options,
                               Progress& progress) {
  for (int i = 0; i < 2; ++i) run_once(session, inputs);
  std::vector<double> seconds;
  double spent = 0;
  while (options.runs > 0 ? static_cast<int>(seconds.size()) < options.runs
                          : seconds.size() < 5 || spent < options.seconds) {
    progress.at(options.runs > 0 ? seconds.size() : static_cast<std::size_t>(spent * 1e3));
    seconds.push_back(run_once(session, inputs));
    spent += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

void bench_network(const BenchOptions& options, const Context& context) {
  const Model model = load_model(options.model);
  const auto start = std::chrono::steady_clock::now();
  const Session session(model.graph, session_options(options.session));
  const PlanSummary plan = session.prepare(model.inputs);
  const double plan_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<double> seconds = [&] {
    const std::size_t total = static_cast<std::size_t>(options.runs > 0 ? options.runs : options.seconds * 1e3);
    Progress progress(options.runs > 0 ? "runs" : "milliseconds", total, context.quiet);
    return timed_runs(session, model.inputs, options, progress);
  }();
  const double median = seconds[seconds.size() / 2], least = seconds.front();

  if (context.format == Format::json) {
    nlohmann::ordered_json row;
    row["name"] = model.name;
    row["median_ms"] = median * 1e3;
    row["min_ms"] = least * 1e3;
    row["gflops"] = plan.flops / median * 1e-9;
    row["runs"] = seconds.size();
    row["threads"] = session.threads();
    row["isa"] = name(session.isa());
    row["dtype"] = options.session.dtype;
    row["flops"] = plan.flops;
    row["plan_ms"] = plan_seconds * 1e3;
    row["arena_bytes"] = plan.arena_bytes;
    row["weight_bytes"] = plan.weight_bytes;
    row["kind"] = "measured";
    nlohmann::ordered_json out = row;  // for one network, and as the rows of a table
    out["schema"] = 1;
    out["rows"] = {row};
    context.print(out.dump(1) + "\n");
    return;
  }
  Table table({{.name = "network", .key = "name"},
               {.name = "median", .key = "median_ms", .unit = "ms", .align = Align::right},
               {.name = "min", .key = "min_ms", .unit = "ms", .align = Align::right},
               {.name = "GFLOP/s", .key = "gflops", .align = Align::right},
               {.name = "runs", .align = Align::right},
               {.name = "threads", .align = Align::right},
               {.name = "isa"},
               {.name = "dtype"},
               {.name = "planned in", .key = "plan_ms", .unit = "ms", .align = Align::right},
               {.name = "values", .key = "arena_bytes", .align = Align::right},
               {.name = "weights", .key = "weight_bytes", .align = Align::right}});
  const auto ms = [](double s) { return Cell(s * 1e3, fmt::format("{:.3f}", s * 1e3)); };
  const auto bytes = [](std::int64_t b) { return Cell(b, format_bytes(static_cast<double>(b))); };
  table.add_row({model.name, ms(median), ms(least),
                 Cell(plan.flops / median * 1e-9, fmt::format("{:.1f}", plan.flops / median * 1e-9)), seconds.size(),
                 session.threads(), name(session.isa()), options.session.dtype, ms(plan_seconds),
                 bytes(plan.arena_bytes), bytes(plan.weight_bytes)});
  context.print(table);
  if (!context.quiet && context.format == Format::table) context.print("\nmeasured on this machine\n");
}

void bench(BenchOptions options, const Context& context) {
  const ModelArgument& model = options.model;
  check(!options.peak || model.model.empty(), Code::invalid_argument,
        "--peak measures the processor: it has nothing to do with '{}'", model.model);
  if (options.peak) return bench_peak(options.session, context);
  check(!model.model.empty(), Code::invalid_argument,
        Hint{"`tessera bench resnet50`, `tessera bench shapes/conv3x3.txt`, or `tessera bench --peak`"},
        "which network, or which file of layers?");
  const bool layers = is_layer_file(model.model);
  if (options.seconds == 0) options.seconds = layers ? kLayerSeconds : kNetworkSeconds;
  check(layers || options.filter.empty(), Code::invalid_argument, "--filter chooses among the layers of a .txt file");
  if (!layers) return bench_network(options, context);
  check(model.inputs.empty() && model.shapes.empty() && model.dimensions.empty() && model.batch == 0 &&
            options.runs == 0 && options.session.plan.empty(),
        Code::invalid_argument, Hint{"FILE.txt:NAME is one of its layers, as a network"},
        "a file of layers says their shapes itself; --input, --shape, --dim, --batch, --runs and --plan are for one "
        "network");
  bench_layers({model.model, options.filter, options.session, options.seconds}, context);
}

}  // namespace

void add_bench(CLI::App& app, const Context& context) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure how long a network, or each layer of a file, takes on this machine");
  auto options = std::make_shared<BenchOptions>();
  add_model_argument(*command, options->model);
  command->get_option("model")->required(false)->description(
      "An .onnx file, a network of the zoo (resnet50, unet, ...), or layers (shapes/conv3x3.txt)");
  add_session_argument(*command, options->session);
  command->add_option("--runs", options->runs, "How many; otherwise as many as fit --seconds, at least 5")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  command->add_option("--seconds", options->seconds, "For all runs together; otherwise 2, and 0.3 for each layer")
      ->check(number_between(0, 3600))
      ->type_name("S");
  command->add_option("--filter", options->filter, "Only layers whose name has this in it")->type_name("TEXT");
  command->add_flag("--peak", options->peak, "How fast the processor multiplies and reads at best, instead");
  CLI::App* timing = command->add_subcommand(
      "timing", "Predicted times of operators on a simulated card, against times that were measured on real ones");
  auto measured = std::make_shared<BenchTimingOptions>();
  timing->add_option("--ops", measured->ops, "Operators of profiles, with their device kernel times")
      ->type_name("FILE.json");
  timing->add_option("--gemm", measured->gemm, "Products of matrices, with the times of a loop on the host")
      ->type_name("FILE.csv");
  timing
      ->add_option("--layers", measured->layers,
                   "Networks with the configuration of each layer and their published device times")
      ->type_name("FILE.json");
  timing->add_option("--folds", measured->folds, "Cross-validate: predict each row by prices fitted to the other folds")
      ->check(CLI::Range(2, 100))
      ->type_name("K");
  timing->add_flag("--fit", measured->fit, "Print the prices that fit the rows best, as groups of machine files");
  timing->add_option("--svg", measured->svg, "Where a picture of predicted over measured times goes")
      ->type_name("FILE.svg");
  timing->callback([measured, &context] { bench_timing(*measured, context); });
  command->callback([options, timing, &context] {
    if (!timing->parsed()) bench(*options, context);
  });
}

}  // namespace tessera::cli
