// tessera run: a network on this machine.

#include "command.h"
#include "model_argument.h"
#include "plan_argument.h"
#include "plan_options.h"
#include "progress.h"
#include "run_dataset.h"
#include "run_pictures.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/file_system.h"
#include "tessera/core/memory_budget.h"
#include "tessera/core/memory_size.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/text.h"
#include "tessera/graph/evaluate.h"
#include "tessera/io/npy.h"
#include "tessera/report/units.h"
#include "tessera/session/reference.h"
#include "tessera/session/session.h"
#include "tessera/targets/registry.h"
#include "tessera/vision/model_notes.h"
#include "tessera/vision/read_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFewestClasses = 10;  // an output of [N, classes] is shown as a ranking from here on
constexpr std::int64_t kRanks = 5;
constexpr std::int64_t kMostRankings = 4;

struct RunOptions {
  ModelArgument model;
  SessionArgument session;
  DatasetArgument dataset;
  PicturesArgument pictures;
  std::string device = "cpu", output, labels, network;
  std::vector<CLI::Option*> cpu_options;
  const CLI::App* command = nullptr;
};

std::string file_name(const std::string& name) {
  std::string out = name;
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-' && c != '.'; },
      '_');
  return out + ".npy";
}

// Two outputs whose names differ only in such characters would overwrite each other.
std::vector<std::string> file_names(const std::vector<Port>& outputs) {
  std::vector<std::string> names;
  for (const Port& port : outputs) {
    std::string file = file_name(port.name);
    check(std::find(names.begin(), names.end(), file) == names.end(), Code::invalid_argument,
          "two outputs would be written to {}, the second is '{}'", file, port.name);
    names.push_back(std::move(file));
  }
  return names;
}

Table summary(const std::vector<Port>& ports, const std::vector<Array>& outputs, const RunOptions& options) {
  Table table({{.name = "output"},
               {.name = "type"},
               {.name = "shape"},
               {.name = "min", .align = Align::right},
               {.name = "mean", .align = Align::right},
               {.name = "max", .align = Align::right},
               {.name = "file"}});
  const std::vector<std::string> files =
      options.output.empty() ? std::vector<std::string>(ports.size()) : file_names(ports);
  if (!options.output.empty()) make_folders(options.output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string file;
    if (!options.output.empty()) {
      file = (fs::path(options.output) / files[i]).string();
      save_npy(file, NpyView(outputs[i].type(), outputs[i].shape().dims(), outputs[i].bytes()));
    }
    const std::vector<double> values = outputs[i].to_double();
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const auto figure = [&](double value) {
      return values.empty() ? Cell() : Cell(value, fmt::format("{:.6g}", value));
    };
    table.add_row({ports[i].name, tessera::name(outputs[i].type()), outputs[i].shape().to_string(),
                   figure(values.empty() ? 0 : *std::min_element(values.begin(), values.end())),
                   figure(sum / static_cast<double>(std::max<std::size_t>(values.size(), 1))),
                   figure(values.empty() ? 0 : *std::max_element(values.begin(), values.end())),
                   file.empty() ? Cell() : Cell(file)});
  }
  return table;
}

bool is_ranking(const Array& output) {
  const bool floating = output.type() == ElementType::float32 || output.type() == ElementType::float16 ||
                        output.type() == ElementType::bfloat16 || output.type() == ElementType::float64;
  return floating && output.shape().rank() == 2 && output.shape()[1] >= kFewestClasses && output.shape()[0] >= 1;
}

void check_labels(const std::string& file, const std::vector<std::string>& labels, const std::vector<Port>& ports,
                  const std::vector<Array>& outputs) {
  bool any = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_ranking(outputs[i])) continue;
    any = true;
    check(static_cast<std::int64_t>(labels.size()) == outputs[i].shape()[1], Code::invalid_argument,
          Hint{"write one name per line, in the order of the classes"}, "{} names {} classes, the output '{}' has {}",
          file, labels.size(), ports[i].name, outputs[i].shape()[1]);
  }
  check(any, Code::invalid_argument, "--labels has no effect: no output has one score per class");
}

Table top_classes(const std::string& output, const Array& scores, const std::vector<std::string>& labels) {
  Table table({{.name = "output"},
               {.name = "image", .align = Align::right},
               {.name = "rank", .align = Align::right},
               {.name = "class", .align = Align::right},
               {.name = "score", .align = Align::right},
               {.name = "probability", .align = Align::right},
               {.name = "label"}});
  const std::vector<double> values = scores.to_double();
  const std::size_t classes = static_cast<std::size_t>(scores.shape()[1]);
  for (std::int64_t image = 0; image < std::min(kMostRankings, scores.shape()[0]); ++image) {
    const auto row = std::span(values).subspan(static_cast<std::size_t>(image) * classes, classes);
    std::int64_t rank = 0;
    for (const RankedClass& one : vision::rank_classes(row, kRanks))
      table.add_row({output, image, ++rank, one.index, Cell(one.score, fmt::format("{:.4g}", one.score)),
                     Cell(one.probability, fmt::format("{:.4f}", one.probability)),
                     one.index < std::ssize(labels) ? Cell(labels[static_cast<std::size_t>(one.index)]) : Cell()});
  }
  return table;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct PrintedRun {
  std::vector<Array> outputs;
  std::vector<Port> ports;
  std::string closing;
};

std::vector<Port> ports_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Port> ports;
  for (const ValueId id : ids) ports.push_back({graph.value(id).name, graph.value(id).type});
  return ports;
}

// As the plan says, on the machine that it is for.
PrintedRun run_planned(const RunOptions& options, const Context& context) {
  for (const CLI::Option* option : options.cpu_options)
    check(option->count() == 0, Code::invalid_argument, "{} applies to this machine's CPU, not to {}",
          option->get_name(), options.model.model);
  const auto start = std::chrono::steady_clock::now();
  const PlanFileArgument argument = load_plan_file_argument(options.model.model);
  const double read_seconds = seconds_since(start);
  ModelArgument given = options.model;
  given.model = options.network;
  const LoadedNetwork network = load_planned_network(argument, given);
  Progress progress("running " + network.name, 0, context.quiet);
  const auto begin = std::chrono::steady_clock::now();
  tessera::RunResult run = argument.target.run(
      *argument.plan, argument.machine, network.inputs,
      [&](std::size_t done, std::size_t all, const std::string& what) { progress.at(done, all, what); });
  const PlanTotals totals = argument.plan->totals();
  return {
      std::move(run.outputs), ports_of(network.graph, network.graph.outputs),
      fmt::format("{}: simulated in {:.1f} s, by the arithmetic of the card\nplan read in {}; it predicts {} on the "
                  "device, {} end to end\n",
                  argument.machine.title, seconds_since(begin), format_time(read_seconds * 1e9),
                  format_time(totals.device_s * 1e9), format_time(totals.end_to_end_s * 1e9))};
}

// Planned for a device of this machine that is not its processor, and run there.
PrintedRun run_on_device(const RunOptions& options) {
  PlanRequest request;
  set_kernel_fields(request, options.session, *options.command);
  const Machine machine = find_machine(options.device);
  const Target& target = target_of(machine);
  target.check_request(machine, request);
  LoadedNetwork network = load_network(options.model);
  const std::vector<Array> inputs = network.inputs;
  std::vector<Port> ports = ports_of(network.graph, network.graph.outputs);
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<NetworkPlan> plan = target.plan(std::move(network), machine, request);
  const double plan_seconds = seconds_since(start);
  tessera::RunResult run = target.run(*plan, machine, inputs);
  const PlanMemory memory = plan->memory();
  std::string closing = fmt::format(
      "{}: {} for all of the network (measured, median of replays, inputs on the device); planned in {}, "
      "which predicts {}\n{} steps",
      machine.title, format_time(run.trace.seconds * 1e9), format_time(plan_seconds * 1e9),
      format_time(plan->totals().device_s * 1e9), run.trace.steps.size());
  for (const MemoryUse& part : memory)
    closing += fmt::format("; {} {}", part.memory, format_bytes(static_cast<double>(part.peak_bytes)));
  return {std::move(run.outputs), std::move(ports), closing + "\n"};
}

PrintedRun run_here(const RunOptions& options) {
  const Model model = load_model(options.model);
  std::vector<Array> outputs;
  std::vector<Port> ports;
  std::string closing;
  if (options.device == "reference") {
    ports = ports_of(model.graph, model.graph.outputs);
    const auto start = std::chrono::steady_clock::now();
    const BudgetScope budget(
        session_options(options.session).memory_limit_bytes.value_or(default_memory_limit_bytes()));
    outputs = evaluate(model.graph, model.inputs);
    closing = fmt::format("reference (plain loops): {} measured\n", format_time(seconds_since(start) * 1e9));
  } else {
    const auto start = std::chrono::steady_clock::now();
    const Session session(model.graph, session_options(options.session));
    const PlanSummary plan = session.prepare(model.inputs);
    const double plan_seconds = seconds_since(start);
    const auto begin = std::chrono::steady_clock::now();
    outputs = session.run(model.inputs);
    ports = session.outputs();
    closing = fmt::format(
        "planned in {}, ran in {} (measured, first run) with {} on {}\n{} steps in {}; values need {} at once (lower "
        "bound: {}), packed weights {}\n",
        format_time(plan_seconds * 1e9), format_time(seconds_since(begin) * 1e9), name(session.isa()),
        session.threads() == 1 ? "1 thread" : fmt::format("{} threads", session.threads()), plan.steps,
        plan.stages == 1 ? "1 stage" : fmt::format("{} stages", plan.stages),
        format_bytes(static_cast<double>(plan.arena_bytes)),
        format_bytes(static_cast<double>(plan.arena_lower_bound_bytes)),
        format_bytes(static_cast<double>(plan.weight_bytes)));
  }
  return {std::move(outputs), std::move(ports), std::move(closing)};
}

void print_outputs(const PrintedRun& ran, const RunOptions& options, const Context& context) {
  const auto& [outputs, ports, closing] = ran;
  const std::vector<std::string> labels =
      options.labels.empty() ? std::vector<std::string>() : load_labels(options.labels);
  if (!options.labels.empty()) check_labels(options.labels, labels, ports, outputs);
  context.print(summary(ports, outputs, options));
  if (context.format != Format::table) return;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (is_ranking(outputs[i])) {
      context.print("\n");
      context.print(top_classes(ports[i].name, outputs[i], labels));
    }
  if (!context.quiet) context.print("\n" + closing);
}

// By all processes that were started together; the first of them writes.
void run_over_samples(const RunOptions& options, const Context& context) {
  DatasetRun done = run_dataset(options.model, options.session, options.dataset, options.output, context);
  together(world(), [&] {
    if (world().rank() != 0) return;
    print_outputs({std::move(done.outputs), std::move(done.ports), std::move(done.closing)}, options, context);
    finish_dataset(options.output);
  });
}

// The network, ready to take one picture after the other.
PictureRunner picture_runner(const RunOptions& options) {
  ModelArgument given = options.model;
  given.inputs.clear();
  if (is_plan_file(given.model)) {
    const auto argument = std::make_shared<const PlanFileArgument>(load_plan_file_argument(given.model));
    given.model = options.network;
    const Graph graph = load_planned_network(*argument, given).graph;
    return {ports_of(graph, graph.inputs), ports_of(graph, graph.outputs),
            [argument](const std::vector<Array>& inputs) {
              return argument->target.run(*argument->plan, argument->machine, inputs, {}).outputs;
            },
            fmt::format("by the arithmetic of {}", argument->machine.title)};
  }
  if (options.device == "cuda") {
    PlanRequest request;
    set_kernel_fields(request, options.session, *options.command);
    const auto machine = std::make_shared<const Machine>(find_machine(options.device));
    const Target& target = target_of(*machine);
    target.check_request(*machine, request);
    LoadedNetwork network = load_network(given);
    PictureRunner runner{ports_of(network.graph, network.graph.inputs),
                         ports_of(network.graph, network.graph.outputs),
                         {},
                         "on " + machine->title};
    const std::shared_ptr<const NetworkPlan> plan = target.plan(std::move(network), *machine, request);
    runner.run = [machine, plan, &target](const std::vector<Array>& inputs) {
      return target.run(*plan, *machine, inputs).outputs;
    };
    return runner;
  }
  Graph graph = load_graph(given);
  if (options.device == "reference") {
    const auto kept = std::make_shared<const Graph>(std::move(graph));
    const std::int64_t limit =
        session_options(options.session).memory_limit_bytes.value_or(default_memory_limit_bytes());
    return {ports_of(*kept, kept->inputs), ports_of(*kept, kept->outputs),
            [kept, limit](const std::vector<Array>& inputs) {
              const BudgetScope budget(limit);
              return evaluate(*kept, inputs);
            },
            "by the reference (plain loops)"};
  }
  const auto session = std::make_shared<const Session>(std::move(graph), session_options(options.session));
  return {session->inputs(), session->outputs(),
          [session](const std::vector<Array>& inputs) { return session->run(inputs); },
          fmt::format("with {} on {}", name(session->isa()), counted(session->threads(), "thread"))};
}

void run_over_pictures(const RunOptions& options, const Context& context) {
  check(!in_a_world(), Code::unsupported, Hint{"one process runs them; its threads share each picture"},
        "pictures are not shared among the processes of mpirun");
  const std::string& named = options.network.empty() ? options.model.model : options.network;
  const std::string network = is_plan_file(named) ? load_plan_file_argument(named).plan->model() : named;
  run_pictures({options.pictures, options.model, network, options.labels, options.output}, picture_runner(options),
               context);
}

// An option that would change nothing is a mistake of whoever gave it.
void check_options_have_effect(const RunOptions& options, const Context& context) {
  const auto given = [&](const char* option) { return options.command->count(option) > 0; };
  const bool planned = is_plan_file(options.model.model);
  check(planned || !given("--network"), Code::invalid_argument, Hint{"MODEL already names the network"},
        "--network needs a plan, but {} is not one", options.model.model);
  check(!planned || !given("--device"), Code::invalid_argument, "--device {} has no effect: the plan names its machine",
        options.device);
  const bool pictures = wants_pictures(options.model);
  if (pictures)
    for (const char* option : {"--samples", "--resume", "--seed", "--shape"})
      check(!given(option), Code::invalid_argument, "{} has no effect: the inputs are pictures", option);
  else
    for (const CLI::Option* option : options.pictures.options)
      check(option->count() == 0, Code::invalid_argument, Hint{"--input photo.jpg, a folder of pictures, or a video"},
            "{} has no effect: no --input is a picture", option->get_name());
  check(!given("--labels") || pictures || context.format == Format::table, Code::invalid_argument,
        Hint{"leave out --labels or --format"}, "--labels has no effect: class names appear only in tables");
  if (options.device == "reference")
    for (const CLI::Option* option : options.cpu_options)
      check(option->count() == 0, Code::invalid_argument, "{} has no effect with --device reference",
            option->get_name());
  if (options.device == "cuda")
    for (const char* option : {"--samples", "--resume"})
      check(!given(option), Code::unsupported, Hint{"--device cpu"}, "{} applies to this machine's CPU only", option);
  if (!options.output.empty() && !in_a_world()) {  // of several processes the first writes, and says who it is
    std::error_code ignored;
    check(!fs::exists(options.output, ignored) || fs::is_directory(options.output, ignored), Code::io,
          "--output {} is a file, but a folder is needed", options.output);
    check_can_write(fs::path(options.output) / "output.npy", Directories::create);
  }
}

void run_model(const RunOptions& options, const Context& context) {
  check_options_have_effect(options, context);
  if (wants_pictures(options.model)) return run_over_pictures(options, context);
  if (is_plan_file(options.model.model)) return print_outputs(run_planned(options, context), options, context);
  if (options.device == "cpu" && wants_dataset(options.model, options.dataset))
    return run_over_samples(options, context);
  if (options.device == "cuda") return print_outputs(run_on_device(options), options, context);
  print_outputs(run_here(options), options, context);
}

}  // namespace

void add_run(CLI::App& app, const Context& context) {
  CLI::App* run =
      app.add_subcommand("run", "Run a network on this machine, or follow a plan for a card on the simulator");
  auto options = std::make_shared<RunOptions>();
  add_model_argument(*run, options->model);
  const std::size_t shared = run->get_options().size();
  add_session_argument(*run, options->session);
  add_loop_limit(*run);
  add_dataset_argument(*run, options->dataset);
  const std::vector<CLI::Option*> all = run->get_options();
  options->cpu_options.assign(all.begin() + static_cast<std::ptrdiff_t>(shared), all.end());
  run->add_option("--network", options->network, "For a plan of a card: the network, if its file has moved")
      ->type_name("MODEL");
  add_pictures_argument(*run, options->pictures);
  options->command = run;
  run->add_option("--device", options->device,
                  "cpu; cuda: the GPU of this machine; reference: plain loops, exact and slow")
      ->check(CLI::IsMember({"cpu", "cuda", "reference"}))
      ->default_str("cpu");
  run->add_option("--output", options->output,
                  "Write each output as NAME.npy to this directory; for pictures, draw the answers on each")
      ->type_name("DIR");
  run->add_option("--labels", options->labels,
                  "Names of the classes, one per line; otherwise those of the network's file")
      ->type_name("FILE");
  run->callback([options, &context] { run_model(*options, context); });
}

}  // namespace tessera::cli
