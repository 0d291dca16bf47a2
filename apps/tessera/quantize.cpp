// tessera quantize: a network of int8 from one of float32.

#include "calibration_samples.h"
#include "command.h"
#include "model_argument.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/onnx/export.h"
#include "tessera/quantize/quantize.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct QuantizeArguments {
  ModelArgument model;
  CalibrationArgument calibration;
  std::string output, method = "mse";
  double percentile = QuantizeOptions{}.percentile;
  std::vector<std::string> exclude;
  double min_pcc = -1, max_drop = -1;
  bool per_tensor = false;
  int threads = 0;
  const CLI::Option* percentile_option = nullptr;
};

QuantizeOptions options_of(const QuantizeArguments& arguments) {
  QuantizeOptions options;
  options.method = *parse_range_method(arguments.method);
  check(arguments.percentile_option->empty() || options.method == RangeMethod::percentile, Code::invalid_argument,
        "--percentile has no effect without --method percentile");
  options.percentile = arguments.percentile;
  options.per_channel = !arguments.per_tensor;
  options.exclude = arguments.exclude;
  options.threads = arguments.threads;
  if (arguments.min_pcc >= 0) options.min_pcc = arguments.min_pcc;
  if (arguments.max_drop >= 0) options.max_drop = arguments.max_drop;
  return options;
}

Cell figure(const std::optional<double>& value, const char* form) {
  if (!value) return {};
  return std::isfinite(*value) ? Cell(*value, fmt::format(fmt::runtime(form), *value)) : Cell("exact");
}

Table layer_table(const QuantizedNetwork& made) {
  Table table({{.name = "node"},
               {.name = "op"},
               {.name = "type"},
               {.name = "low", .align = Align::right},
               {.name = "high", .align = Align::right},
               {.name = "signal/error, dB", .key = "signal_db", .align = Align::right},
               {.name = "PCC alone", .key = "pcc_alone", .align = Align::right},
               {.name = "reason"}});
  for (const QuantizedLayer& layer : made.layers) {
    const auto bound = [&](double value) { return layer.bytes ? Cell(value, fmt::format("{:.4g}", value)) : Cell(); };
    table.add_row({layer.node, layer.op, layer.bytes ? "int8" : "float32", bound(layer.low), bound(layer.high),
                   figure(layer.signal_db, "{:.1f}"), figure(layer.pcc_alone, "{:.6f}"),
                   layer.reason.empty() ? Cell() : Cell(layer.reason)});
  }
  return table;
}

std::string closing_text(const QuantizedNetwork& made, const QuantizeArguments& arguments,
                         const CalibrationSamples& samples) {
  std::size_t bytes = 0;
  for (const QuantizedLayer& layer : made.layers) bytes += layer.bytes ? 1 : 0;
  std::string text =
      fmt::format("\n{}: {} of {} layers quantized to int8, constants {:.1f} MB (before: {:.1f} MB)\n",
                  arguments.output, bytes, made.layers.size(), static_cast<double>(made.weight_bytes) * 1e-6,
                  static_cast<double>(made.weight_bytes_before) * 1e-6);
  text += fmt::format("Compared with float32 on {}:", samples.description);
  if (made.accuracy.pcc) text += fmt::format(" PCC {:.5f},", *made.accuracy.pcc);
  text += fmt::format(" largest error {:.3g} x the largest output", made.accuracy.max_relative);
  if (made.accuracy.drop) text += fmt::format(", top class changed for {:.1f} %", *made.accuracy.drop * 100);
  text += " (measured)\n";
  if (samples.random)
    text += "Ranges were measured on random inputs. For accuracy, give real ones with --calibration.\n";
  else if (!arguments.calibration.inputs.empty() && samples.runs.size() == 1)
    text += "One run is too few for reliable ranges; use a hundred samples or more.\n";
  constexpr double kLow = 0.99;
  if (arguments.min_pcc < 0 && made.accuracy.pcc && *made.accuracy.pcc < kLow)
    text += fmt::format("The PCC is below {}. --min-pcc {} keeps the most sensitive layers in float32.\n", kLow, kLow);
  return text;
}

void quantize_model(const QuantizeArguments& arguments, const Context& context) {
  QuantizeOptions options = options_of(arguments);
  check_can_write(arguments.output);
  const Graph graph = load_graph(arguments.model);
  const CalibrationSamples samples = calibration_samples(graph, arguments.model, arguments.calibration, context);
  Progress progress("calibrating", samples.runs.size(), context.quiet);
  options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
    progress.at(done, total, what);
  };
  const QuantizedNetwork made = quantize(Network(graph), samples.runs, options);
  check(made.kept, Code::invalid_argument, Hint{"try another --method, or exclude layers with --exclude"},
        "the accuracy target is missed even with a single int8 layer (PCC {:.5f}{})", made.accuracy.pcc.value_or(0),
        made.accuracy.drop ? fmt::format(", top class changed for {:.1f} %", *made.accuracy.drop * 100) : "");
  export_onnx(made.network.graph(), arguments.output, {.metadata = model_metadata(arguments.model.model)});
  context.print(layer_table(made));
  if (context.for_people() && !context.quiet) context.print(closing_text(made, arguments, samples));
}

}  // namespace

void add_quantize(CLI::App& app, const Context& context) {
  CLI::App* command = app.add_subcommand("quantize", "Quantize a float32 network to int8, as standard ONNX");
  auto arguments = std::make_shared<QuantizeArguments>();
  add_network_argument(*command, arguments->model);
  command->add_option("-o,--output", arguments->output, "The file to write")->required()->type_name("FILE.onnx");
  add_calibration_argument(*command, arguments->calibration);
  command->add_option("--method", arguments->method, "How the range of each activation is chosen")
      ->check(CLI::IsMember({"min-max", "percentile", "entropy", "mse"}))
      ->default_str("mse");
  arguments->percentile_option = command
                                     ->add_option("--percentile", arguments->percentile,
                                                  "Percentage of values inside the range, for --method percentile")
                                     ->check(CLI::Range(50.0, 100.0))
                                     ->default_str("99.99")
                                     ->type_name("P");
  command->add_flag("--per-tensor", arguments->per_tensor,
                    "One weight scale per layer instead of one per output channel");
  command
      ->add_option("--exclude", arguments->exclude,
                   "Keep a node in float32, by name, or every node of an operator (MatMul)")
      ->expected(1)
      ->take_all()
      ->type_name("NODE|OP");
  command
      ->add_option("--min-pcc", arguments->min_pcc,
                   "Lowest allowed correlation with the float32 outputs; sensitive layers stay in float32 to reach it")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("P");
  command
      ->add_option("--max-drop", arguments->max_drop,
                   "Largest fraction of samples whose top class may change; likewise")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("F");
  command
      ->add_option("--threads", arguments->threads, "Number of threads; default: all cores that this process may use")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command->callback([arguments, &context] { quantize_model(*arguments, context); });
}

}  // namespace tessera::cli
