// tessera ncp: liquid networks. `ncp wiring` shows what a recipe makes, `ncp eval` what a trained layer makes of a
// task; each of the others has a file of its own.

#include "ncp.h"
#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/parallel_for.h"
#include "tessera/ncp/evaluation.h"
#include "tessera/ncp/wiring.h"
#include "tessera/ncp/wiring_drawing.h"
#ifdef TESSERA_CUDA
#include "tessera/targets/cuda/liquid/layer_runner.h"
#endif

#include <chrono>
#include <memory>
#include <string>

namespace tessera::cli {
namespace {

struct WiringOptions {
  std::string spec;
  int inputs = 1;
  bool digest = false;
  bool json = false;
  bool dot = false;
  bool svg = false;
  bool no_sensory = false;
  bool no_labels = false;
  std::string layout = "layers";
  std::string output;
};

ncp::Wiring wiring_of(const WiringOptions& options, bool inputs_given) {
  if (!options.spec.ends_with(".json")) return ncp::build_wiring(ncp::parse_wiring_spec(options.spec), options.inputs);
  return with_context("while reading " + options.spec, [&] {
    ncp::Wiring wiring = ncp::wiring_from_json(read_text_file(options.spec));
    check(!inputs_given || wiring.inputs == options.inputs, Code::invalid_argument,
          "the wiring in the file has {} inputs, but --inputs is {}", wiring.inputs, options.inputs);
    return wiring;
  });
}

void print_summary(const ncp::Wiring& wiring, const Context& context) {
  const ncp::SynapseCounts counts = ncp::count_synapses(wiring);
  Table table({{.name = "wiring"},
               {.name = "inputs", .align = Align::right},
               {.name = "units", .align = Align::right},
               {.name = "outputs", .align = Align::right},
               {.name = "layers"},
               {.name = "synapses", .align = Align::right},
               {.name = "excitatory", .align = Align::right},
               {.name = "sensory", .key = "sensory_synapses", .align = Align::right},
               {.name = "sensory exc.", .key = "sensory_excitatory", .align = Align::right},
               {.name = "digest"}});
  std::string layers;
  for (const ncp::WiringLayer& layer : wiring.layers)
    layers += fmt::format("{}{} {}", layers.empty() ? "" : ", ", layer.neurons.size(), layer.name);
  table.add_row({to_string(wiring.spec), wiring.inputs, wiring.units, wiring.outputs, layers, counts.synapses,
                 counts.excitatory, counts.sensory_synapses, counts.sensory_excitatory, digest(wiring)});
  context.print(table);
}

void show_wiring(const WiringOptions& options, bool inputs_given, const Context& context) {
  const ncp::Wiring wiring = wiring_of(options, inputs_given);
  ncp::WiringStyle style;
  style.layout = ncp::parse_wiring_layout(options.layout).value_or(style.layout);
  style.sensory_neurons = !options.no_sensory;
  style.labels = !options.no_labels;
  std::string text;
  if (options.digest) text = digest(wiring) + "\n";
  if (options.json) text = wiring_to_json(wiring);
  if (options.dot) text = wiring_to_dot(wiring, style);
  if (options.svg) text = wiring_to_svg(wiring, style);
  if (text.empty()) {
    check(options.output.empty(), Code::invalid_argument, Hint{"add --json, --dot or --svg"},
          "-o {} was given, but no form to write", options.output);
    return print_summary(wiring, context);
  }
  if (options.output.empty()) return context.print(text);
  write_file_atomically(options.output, std::string_view(text));
}

void add_wiring(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("wiring", "Build a wiring and print its counts, digest, synapses or picture");
  auto options = std::make_shared<WiringOptions>();
  command
      ->add_option("SPEC", options->spec,
                   "NCP(...), AutoNCP(units,outputs), FullyConnected(units), Random(units,sparsity=0.5), "
                   "Layered(inter:12x6,command:6x4+4,motor:1x6), or a .json file that --json wrote")
      ->required();
  CLI::Option* inputs = command->add_option("--inputs", options->inputs, "Number of inputs")->capture_default_str();
  CLI::Option_group* forms = command->add_option_group("form");
  forms->add_flag("--digest", options->digest, "Print only the digest of both matrices");
  forms->add_flag("--json", options->json, "Print the recipe, the counts and every synapse as JSON");
  forms->add_flag("--dot", options->dot, "Print a Graphviz graph");
  forms->add_flag("--svg", options->svg, "Print an SVG picture");
  forms->require_option(0, 1);
  command->add_option("--layout", options->layout, "Layout of the picture: layers, shell or circular")
      ->check(CLI::IsMember({"layers", "shell", "circular"}))
      ->capture_default_str();
  command->add_flag("--no-sensory", options->no_sensory, "Draw no sensory neurons");
  command->add_flag("--no-labels", options->no_labels, "Draw no numbers in the neurons");
  command->add_option("-o,--output", options->output, "Write to this file instead of standard output");
  command->callback([options, inputs, &context] { show_wiring(*options, inputs->count() > 0, context); });
}

struct EvalOptions {
  NcpTrainedArgument model;
  NcpTaskOptions task;
  std::string set = "test";
  std::string device = "cpu";
  std::string precision = "f32";
  std::int64_t batch = 256;
  int threads = 0;
};

ncp::LossSums evaluate_on_cpu(const NcpTrained& trained, const ncp::Task& task, const ncp::Dataset& data,
                              const EvalOptions& options) {
  const auto precision = ncp::parse_precision(options.precision);
  check(precision.has_value(), Code::invalid_argument, "--precision {} needs --device cuda", options.precision);
  return ncp::evaluate(trained.layer, trained.parameters, data, task.loss, task.readout, *precision, options.batch);
}

ncp::LossSums evaluate_on_gpu(const NcpTrained& trained, const ncp::Task& task, const ncp::Dataset& data,
                              const EvalOptions& options) {
  check(options.precision == "f32" || options.precision == "tf32", Code::invalid_argument,
        "--device cuda supports --precision f32 and tf32, not {}", options.precision);
#ifdef TESSERA_CUDA
  cuda::LayerRunner runner(ncp::evaluated(trained.layer), trained.parameters,
                           options.precision == "tf32" ? cuda::LiquidPrecision::tf32 : cuda::LiquidPrecision::f32);
  return ncp::evaluate(
      trained.layer, data, task.loss, task.readout, options.batch,
      [&](const ncp::Sequence<float>& sequence, ncp::SequenceResult<float>& result) { runner.run(sequence, result); });
#else
  (void)trained, (void)task, (void)data;
  fail(Code::unsupported, Hint{"build with the CUDA toolkit, or use --device cpu"},
       "cuda: this program was built without kernels for NVIDIA GPUs");
#endif
}

void evaluate_model(EvalOptions options, const CLI::App& command, const Context& context) {
  const ThreadLimit limit(options.threads);
  const NcpTrained trained = load_ncp_trained(options.model);
  if (command.count("--task") == 0 && !trained.notes.empty()) {
    for (const char* flag : {"--samples", "--loss", "--readout", "--window", "--stride"})
      check(command.count(flag) == 0, Code::invalid_argument, Hint{"leave it out, or say which --task"},
            "{} has no effect: the task is the one that the checkpoint was trained on", flag);
    const std::string data = options.task.data;
    options.task = ncp_task_from_notes(trained.notes);
    if (!data.empty()) options.task.data = data;
  }
  check_task_options(command, options.task);
  const ncp::Task task = load_ncp_task(options.task);
  check_task_options(command, task);
  const ncp::Dataset& data = options.set == "training"     ? task.training
                             : options.set == "validation" ? task.validation
                                                           : task.test;
  check(data.samples > 0, Code::invalid_argument, "the task '{}' has no {} set", options.task.task, options.set);
  const auto start = std::chrono::steady_clock::now();
  const ncp::LossSums sums = options.device == "cuda" ? evaluate_on_gpu(trained, task, data, options)
                                                      : evaluate_on_cpu(trained, task, data, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Table table({{.name = "task"},
               {.name = "set"},
               {.name = "samples", .align = Align::right},
               {.name = "loss", .align = Align::right},
               {.name = "accuracy [%]", .key = "accuracy", .align = Align::right},
               {.name = "samples/s", .key = "samples_per_second", .align = Align::right},
               {.name = "device"},
               {.name = "precision"}});
  table.add_row({options.task.task, options.set, data.samples, fmt::format("{:.6f}", sums.mean_loss()),
                 task.loss == ncp::Loss::mean_squared_error ? "" : fmt::format("{:.2f}", 100 * sums.accuracy()),
                 fmt::format("{:.0f}", static_cast<double>(data.samples) / seconds), options.device,
                 options.precision});
  context.print(table);
}

void add_ncp_eval(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("eval", "Compute loss and accuracy of a trained layer");
  auto options = std::make_shared<EvalOptions>();
  add_ncp_trained_argument(*command, options->model);
  add_task_options(*command, options->task);
  command->add_option("--set", options->set, "Which data: test, validation or training")
      ->check(CLI::IsMember({"test", "validation", "training"}));
  command->add_option("--device", options->device, "cpu, or cuda: an NVIDIA GPU")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--precision", options->precision, "f32, bf16 or f16; on a GPU f32 or tf32")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "tf32"}));
  command->add_option("--batch", options->batch, "Batch size")->check(whole_number(1));
  command->add_option("--threads", options->threads, "Number of threads; 0: all")->check(whole_number(0, 4096));
  command->callback([options, command, &context] { evaluate_model(*options, *command, context); });
}

}  // namespace

void add_ncp(CLI::App& app, const Context& context) {
  CLI::App* ncp = app.add_subcommand("ncp", "Liquid networks: wirings, training, evaluation, device profiles");
  ncp->require_subcommand(1);
  add_wiring(*ncp, context);
  add_ncp_train(*ncp, context);
  add_ncp_eval(*ncp, context);
  add_ncp_predict(*ncp, context);
  add_ncp_export(*ncp, context);
  add_ncp_profile(*ncp, context);
}

}  // namespace tessera::cli
