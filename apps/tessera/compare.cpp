// tessera compare: the outputs of a network here and elsewhere, and the first node that differs; or, with --device,
// what the arithmetic of a machine costs; or, with --plans, what two plans do differently; or, with --devices, how fast
// several machines would be.

#include "arguments.h"
#include "command.h"
#include "compare_machines.h"
#include "model_argument.h"
#include "peer.h"
#include "plan_argument.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/temporary_directory.h"
#include "tessera/graph/evaluate.h"
#include "tessera/io/onnx/export.h"
#include "tessera/report/difference.h"
#include "tessera/report/table_rows.h"
#include "tessera/session/bisect.h"
#include "tessera/session/reference.h"
#include "tessera/session/session.h"
#include "tessera/targets/registry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// What the arithmetic of a machine costs in accuracy, for every choice of types.
struct ArithmeticArgument {
  std::string device;
  ArithmeticRequest request;
  std::string statistics = "trained";
};

struct CompareOptions {
  ModelArgument model;
  MachinesArgument machines;
  SessionArgument session;
  ArithmeticArgument arithmetic;
  std::string against = "onnxruntime", python;
  std::vector<std::string> plans;
  double tolerance = 1e-4;
  bool bisect = false;
};

struct Expected {
  std::map<std::string, Array> values;  // outputs; with a bisection every value that could be had
  std::string by;
};

Expected by_reference(const Model& model, bool intermediates) {
  Expected expected{{}, "the reference (plain loops)"};
  const auto keep = [&](ValueId id, const Array& array) {
    expected.values.insert_or_assign(model.graph.value(id).name, array);
  };
  std::function<void(const Node&, const std::vector<const Array*>&)> observer;
  if (intermediates)
    observer = [&](const Node& node, const std::vector<const Array*>& outputs) {
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i] != nullptr && node.outputs[i] != kNoValue) keep(node.outputs[i], *outputs[i]);
    };
  const std::vector<Array> outputs = evaluate(model.graph, model.inputs, observer);
  for (std::size_t i = 0; i < outputs.size(); ++i) keep(model.graph.outputs[i], outputs[i]);
  return expected;
}

Expected by_onnxruntime(const Model& model, const CompareOptions& options) {
  const TemporaryDirectory directory;
  PeerRequest request;
  request.python = options.python;
  request.model = options.model.model;
  if (!fs::exists(request.model)) {  // a network of the zoo
    request.model = directory.path() / "model.onnx";
    export_onnx(model.graph, request.model);
  }
  for (std::size_t i = 0; i < model.inputs.size(); ++i)
    request.inputs.emplace_back(model.graph.value(model.graph.inputs[i]).name, &model.inputs[i]);
  request.intermediates = options.bisect;
  request.threads = options.session.threads;
  PeerResult result = run_onnxruntime(request);
  return {std::move(result.values), std::move(result.version)};
}

Cell number(double value) { return Cell(value, fmt::format("{:.3g}", value)); }

struct OutputRow {
  std::string output;
  const Array* found = nullptr;
  Difference difference;
};

Table output_table(const std::vector<OutputRow>& rows, double tolerance) {
  Table table({{.name = "output"},
               {.name = "type"},
               {.name = "shape"},
               {.name = "max abs error", .key = "max_abs_error", .align = Align::right},
               {.name = "max relative error", .key = "max_relative_error", .align = Align::right},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "verdict"}});
  for (const OutputRow& row : rows) {
    const Difference& d = row.difference;
    const bool agrees = d.within(tolerance);
    table.add_row({row.output, name(row.found->type()), row.found->shape().to_string(),
                   d.same_form ? number(d.max_abs) : Cell(), d.same_form ? number(d.max_relative) : Cell(),
                   d.pcc ? Cell(*d.pcc, fmt::format("{:.9f}", *d.pcc)) : Cell(),
                   agrees        ? "agrees"
                   : d.same_form ? "differs"
                                 : "another type or shape"});
  }
  return table;
}

std::string index_text(const Shape& shape, std::int64_t position) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    text = fmt::format("{}{}{}", position % shape[d], text.empty() ? "" : ", ", text);
    position /= shape[d];
  }
  return "[" + text + "]";
}

// The value that differs, and below it what its node reads.
Table finding_table(const Bisection::Finding& finding) {
  Table table({{.name = "value"},
               {.name = "role"},
               {.name = "node"},
               {.name = "operator", .key = "op"},
               {.name = "kernel"},
               {.name = "type"},
               {.name = "max abs error", .key = "max_abs_error", .align = Align::right},
               {.name = "max relative error", .key = "max_relative_error", .align = Align::right},
               {.name = "at"},
               {.name = "here", .key = "found", .align = Align::right},
               {.name = "there", .key = "expected", .align = Align::right}});
  const auto figures = [](const Difference& d, const Shape& shape) -> std::vector<Cell> {
    if (!d.same_form) return {Cell(), Cell(), Cell("another type or shape"), Cell(), Cell()};
    const auto exact = [](double value) { return Cell(value, fmt::format("{:.9g}", value)); };
    return {number(d.max_abs), number(d.max_relative), Cell(index_text(shape, d.worst)), exact(d.found),
            exact(d.expected)};
  };
  const auto add = [&](std::vector<Cell> start, const std::vector<Cell>& rest) {
    start.insert(start.end(), rest.begin(), rest.end());
    table.add_row(std::move(start));
  };
  add({finding.value, "differs", finding.node, finding.op, finding.kernel, finding.type},
      figures(finding.difference, finding.shape));
  for (const Bisection::Finding::Input& input : finding.inputs) {
    const std::vector<Cell> nothing(5);
    add({input.value, input.role, Cell(), Cell(), Cell(), input.type},
        input.difference ? figures(*input.difference, input.shape) : nothing);
  }
  return table;
}

void print_text(const Bisection& bisection, double tolerance, const Context& context) {
  if (bisection.first) {
    context.print(fmt::format("\nThe first value over the tolerance{}:\n\n",
                              bisection.fused ? "; it differs only when operators are fused" : ""));
    context.print(finding_table(*bisection.first));
  }
  if (!context.quiet)
    context.print(
        fmt::format("\n{} values compared{}{}\n", bisection.compared,
                    bisection.first ? "" : fmt::format("; none differs by more than {:g}", tolerance),
                    bisection.skipped == 0 ? "" : fmt::format("; {} exist on one side only", bisection.skipped)));
}

void compare_model(const CompareOptions& options, const Context& context) {
  const Model model = load_model(options.model);
  const SessionOptions session_options = cli::session_options(options.session);
  const Session session(model.graph, session_options);
  const std::vector<Array> found = session.run(model.inputs);
  const Expected expected =
      options.against == "reference" ? by_reference(model, options.bisect) : by_onnxruntime(model, options);
  std::vector<OutputRow> rows;
  bool agrees = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    const auto there = expected.values.find(name);
    check(there != expected.values.end(), Code::unsupported, "{} produced no output '{}' to compare", expected.by,
          name);
    rows.push_back({name, &found[i], difference(found[i], there->second)});
    agrees = agrees && rows.back().difference.within(options.tolerance);
  }
  std::optional<Bisection> bisection;
  if (options.bisect)
    bisection = bisect(model.graph, model.inputs, session_options, expected.values, options.tolerance);

  const Table table = output_table(rows, options.tolerance);
  if (context.format == Format::json) {
    nlohmann::json out = {{"schema", 1},      {"model", options.model.model},   {"against", expected.by},
                          {"agrees", agrees}, {"tolerance", options.tolerance}, {"outputs", table_rows(table)}};
    if (bisection) {
      out["bisect"] = {{"compared", bisection->compared}, {"skipped", bisection->skipped}, {"fused", bisection->fused}};
      out["bisect"]["first"] = bisection->first ? table_rows(finding_table(*bisection->first)) : nlohmann::json();
    }
    context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (context.format == Format::csv) {
    context.print(bisection && bisection->first ? finding_table(*bisection->first) : table);
  } else {
    context.print(table);
    if (bisection) print_text(*bisection, options.tolerance, context);
    if (!context.quiet)
      context.print(
          fmt::format("\nagainst {}; tolerance {:g} of the largest magnitude\n", expected.by, options.tolerance));
  }
  const bool inside = !bisection || !bisection->first;
  check(agrees, Code::invalid_argument, "the outputs differ from those of {} by more than {:g}", expected.by,
        options.tolerance);
  check(inside, Code::invalid_argument, "the outputs agree with those of {}, but an intermediate value differs",
        expected.by);
}

void compare_arithmetic(const CompareOptions& options, const Context& context) {
  const ThreadLimit limit(options.session.threads);
  const Machine machine = find_machine(options.arithmetic.device);
  const Target& target = target_of(machine);
  ArithmeticRequest request = options.arithmetic.request;
  request.trained_statistics = options.arithmetic.statistics == "trained" && !fs::exists(options.model.model);
  SimulateHooks hooks;
  std::optional<Progress> progress;
  hooks.on_progress = [&](std::size_t done, std::size_t all, const std::string& what) {
    if (!progress) progress.emplace("simulating", all, context.quiet);
    progress->at(done, what);
  };
  hooks.reference = session_reference(options.session.threads);
  const View view = target.compare_arithmetic(load_network(options.model), machine, request, hooks);
  progress.reset();
  context.print(view);
}

void compare_plans(const std::vector<std::string>& files, const Context& context) {
  const ReadPlan a = read_plan(files.at(0)), b = read_plan(files.at(1));
  check(&a.target == &b.target, Code::invalid_argument,
        "cannot compare plans of two machine families: {} is for {}, {} is for {}", files[0], a.plan->machine(),
        files[1], b.plan->machine());
  context.print(a.target.compare({NamedPlan{files[0], *a.plan}, NamedPlan{files[1], *b.plan}}));
}

void add_arithmetic_options(CLI::App& command, ArithmeticArgument& argument) {
  command
      .add_option(
          "--device", argument.device,
          "Compare the arithmetic of this card (wormhole_n150, ...) with float32, for every combination of types")
      ->type_name("NAME");
  command
      .add_option("--types", argument.request.types,
                  "With --device: only these type pairs, as WEIGHTS/ACTIVATIONS (bfloat8_b/bfloat16)")
      ->delimiter(',')
      ->type_name("W/A");
  command
      .add_option("--fidelity", argument.request.fidelities,
                  "With --device: only these math fidelities: LoFi, HiFi2, HiFi3, HiFi4")
      ->delimiter(',')
      ->check(CLI::IsMember({"LoFi", "HiFi2", "HiFi3", "HiFi4"}))
      ->type_name("F");
  command
      .add_option("--accumulate", argument.request.accumulations,
                  "With --device: accumulate only in bfloat16, or only in float32")
      ->delimiter(',')
      ->check(CLI::IsMember({"bfloat16", "float32"}))
      ->type_name("TYPE");
  command
      .add_option(
          "--statistics", argument.statistics,
          "With --device, for networks of the zoo: seeded weights, or weights with the statistics of trained ones")
      ->check(CLI::IsMember({"seeded", "trained"}))
      ->default_str("trained");
}

// What is compared decides which options mean anything.
void check_options(const CLI::App& command, std::string_view what, const std::set<std::string>& honoured) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& given : option->get_lnames())
      check(option->count() == 0 || honoured.contains(given), Code::invalid_argument, Hint{"leave it out"},
            "--{} has no effect {}", given, what);
}

const std::set<std::string> kNetworkOptions = {"input", "shape", "dim", "batch", "rebatch", "seed"};

std::set<std::string> with_network(std::set<std::string> options) {
  options.insert(kNetworkOptions.begin(), kNetworkOptions.end());
  return options;
}

}  // namespace

void add_compare(CLI::App& app, const Context& context) {
  CLI::App* command =
      app.add_subcommand("compare", "Compare outputs with another runtime and find the first node that differs");
  auto options = std::make_shared<CompareOptions>();
  add_model_argument(*command, options->model);
  add_session_argument(*command, options->session);
  add_loop_limit(*command);
  add_arithmetic_options(*command, options->arithmetic);
  add_machines_options(*command, options->machines);
  command
      ->add_option(
          "--against", options->against,
          "onnxruntime (through a Python interpreter that has it), or reference (Tessera's own plain loops, slow)")
      ->check(CLI::IsMember({"onnxruntime", "reference"}))
      ->type_name("PEER")
      ->default_str("onnxruntime");
  command
      ->add_option("--tolerance", options->tolerance,
                   "Largest error that still agrees, as a fraction of the output's largest magnitude")
      ->check(number_from(0))
      ->type_name("X")
      ->default_str("1e-4");
  command->add_flag("--bisect", options->bisect,
                    "Compare every intermediate value, without fusion, and show the first one over the tolerance");
  command->add_option("--python", options->python, "The Python interpreter; default: $TESSERA_PYTHON, or python3")
      ->type_name("PATH");
  command
      ->add_option("--plans", options->plans,
                   "Compare two plans for cards (from `tessera plan --device`) layer by layer instead")
      ->expected(2)
      ->type_name("FILE");
  CLI::Option* model = command->get_option("model");
  model->required(false);
  command->callback([options, model, command, &context] {
    if (options->plans.empty() && options->model.model.empty()) throw CLI::RequiredError(model->get_name());
    if (!options->plans.empty()) {
      check(options->model.model.empty(), Code::invalid_argument,
            "--plans compares two plans and takes no network, but {} was given", options->model.model);
      check_options(*command, "with --plans", {"plans", "config"});
      compare_plans(options->plans, context);
    } else if (!options->machines.devices.empty()) {
      check_options(*command, "with --devices", with_network({"devices", "budget", "price", "html", "config"}));
      compare_on_machines(options->model, options->machines, context);
    } else if (options->arithmetic.device.empty()) {
      for (const char* option : {"types", "fidelity", "accumulate", "statistics"})
        check(command->count(std::string("--") + option) == 0, Code::invalid_argument,
              Hint{"--device names the machine whose arithmetic is compared"}, "--{} has no effect without --device",
              option);
      compare_model(*options, context);
    } else {
      check_options(*command, "with --device",
                    with_network({"device", "types", "fidelity", "accumulate", "statistics", "threads", "config"}));
      compare_arithmetic(*options, context);
    }
  });
}

}  // namespace tessera::cli
