#include "compare_device.h"

#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/difference.h"
#include "tessera/targets/tensix/network/graph_values.h"
#include "tessera/targets/tensix/network/trained_statistics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

namespace tessera::cli {
namespace {

constexpr std::string_view kTypes[] = {"bfloat16/bfloat16", "bfloat8_b/bfloat16", "bfloat8_b/bfloat8_b",
                                       "bfloat4_b/bfloat8_b"};
constexpr std::string_view kAccumulations[] = {"bfloat16", "float32"};
constexpr tensix::MathFidelity kFidelities[] = {tensix::MathFidelity::lofi, tensix::MathFidelity::hifi2,
                                                tensix::MathFidelity::hifi3, tensix::MathFidelity::hifi4};

using Values = std::map<std::string, Array>;

// Every value of the network in float32, on the CPU.
Values float32_values(const Graph& graph, const std::vector<Array>& inputs, int threads) {
  SessionOptions options;
  options.threads = threads;
  options.exact = true;
  for (const Pass& pass : all_passes()) options.passes_off.emplace_back(pass.name);
  options.passes_off.emplace_back(kChainPass);
  Values values;
  Session(graph, options).observe(inputs, [&](const std::string& name, const Array& array) {
    values.insert_or_assign(name, array);
  });
  return values;
}

// Root of the mean square of the error, as a part of that of what is expected.
double relative_error(const Array& found, const Array& expected) {
  const auto a = found.as<float>(), b = expected.as<float>();
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    apart += d * d;
    size += static_cast<double>(b[i]) * b[i];
  }
  return apart == 0 ? 0 : size == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(apart / size);
}

struct Result {
  tensix::GraphPrecision precision;
  double pcc = 1, error = 0;  // of the output that is furthest off
  std::string worst_layer;
  double worst_pcc = 2;
};

// NaN where it should not be, or a constant: as bad as it gets.
double correlation(const Array& found, const Array& expected) {
  const Difference d = difference(found, expected);
  return d.pcc ? *d.pcc : d.max_abs == 0 ? 1 : 0;
}

Result simulate(const Graph& graph, const std::vector<Array>& inputs, const Values& expected,
                const tensix::GraphPrecision& precision) {
  Result result{precision, 1, 0, "", 2};
  const auto compared = [&](ValueId id) -> const Array* {
    const auto at = expected.find(graph.value(id).name);
    return at != expected.end() && at->second.type() == ElementType::float32 && at->second.count() > 1 ? &at->second
                                                                                                       : nullptr;
  };
  const std::vector<Array> outputs =
      tensix::graph_values(graph, inputs, precision, [&](const Node& node, const Array& found) {
        const Array* there = compared(node.outputs[0]);
        if (there == nullptr) return;
        const double pcc = correlation(found, *there);
        if (pcc >= result.worst_pcc) return;
        result.worst_pcc = pcc;
        result.worst_layer = node.name;
      });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Array* there = compared(graph.outputs[i]);
    if (there == nullptr) continue;
    result.pcc = std::min(result.pcc, correlation(outputs[i], *there));
    result.error = std::max(result.error, relative_error(outputs[i], *there));
  }
  return result;
}

template <class Names>
std::vector<std::string> chosen(const std::vector<std::string>& asked, const Names& all) {
  if (!asked.empty()) return asked;
  return {std::begin(all), std::end(all)};
}

DType floating_dtype(std::string_view text) {
  const std::optional<DType> dtype = parse_dtype(text);
  const bool known = dtype && (is_block_float(*dtype) || *dtype == DType::bfloat16 || *dtype == DType::float32);
  check(known, Code::invalid_argument, "the card computes with float32, bfloat16, bfloat8_b and bfloat4_b, not '{}'",
        text);
  return *dtype;
}

std::vector<tensix::GraphPrecision> precisions(const DeviceArgument& argument) {
  std::vector<tensix::GraphPrecision> all;
  std::vector<tensix::MathFidelity> fidelities;
  for (const tensix::MathFidelity fidelity : kFidelities)
    if (argument.fidelities.empty() ||
        std::find(argument.fidelities.begin(), argument.fidelities.end(), name(fidelity)) != argument.fidelities.end())
      fidelities.push_back(fidelity);
  for (const std::string& types : chosen(argument.types, kTypes)) {
    const std::size_t slash = types.find('/');
    check(slash != std::string::npos, Code::invalid_argument,
          "--types {}: weights and activations are wanted, as in bfloat8_b/bfloat16", types);
    for (const tensix::MathFidelity fidelity : fidelities)
      for (const std::string& accumulation : chosen(argument.accumulations, kAccumulations)) {
        tensix::GraphPrecision precision;
        precision.weights = floating_dtype(types.substr(0, slash));
        precision.activations = floating_dtype(types.substr(slash + 1));
        precision.compute.fidelity = fidelity;
        precision.compute.fp32_dest_acc_en = accumulation == "float32";
        precision.compute.packer_l1_acc = true;
        all.push_back(precision);
      }
  }
  return all;
}

Table result_table(const std::vector<Result>& results) {
  Table table({{.name = "weights"},
               {.name = "activations"},
               {.name = "fidelity"},
               {.name = "accumulates in", .key = "accumulation"},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "relative error", .key = "relative_error", .align = Align::right},
               {.name = "worst layer", .key = "worst_layer"},
               {.name = "its PCC", .key = "worst_pcc", .align = Align::right}});
  const auto pcc = [](double value) { return Cell(value, fmt::format("{:.5f}", value)); };
  for (const Result& r : results)
    table.add_row({name(r.precision.weights), name(r.precision.activations), name(r.precision.compute.fidelity),
                   r.precision.compute.fp32_dest_acc_en ? "float32" : "bfloat16", pcc(r.pcc),
                   Cell(r.error, fmt::format("{:.3g}", r.error)), r.worst_layer, pcc(r.worst_pcc)});
  return table;
}

}  // namespace

void add_device_argument(CLI::App& command, DeviceArgument& argument) {
  command
      .add_option("--device", argument.device,
                  "Compare the arithmetic of this card (wormhole_n150, ...) with float32, for every choice of types")
      ->type_name("NAME");
  command
      .add_option("--types", argument.types, "With --device: only these, as WEIGHTS/ACTIVATIONS (bfloat8_b/bfloat16)")
      ->delimiter(',')
      ->type_name("W/A");
  command.add_option("--fidelity", argument.fidelities, "With --device: only these of LoFi, HiFi2, HiFi3, HiFi4")
      ->delimiter(',')
      ->check(CLI::IsMember({"LoFi", "HiFi2", "HiFi3", "HiFi4"}))
      ->type_name("F");
  command.add_option("--accumulate", argument.accumulations, "With --device: only in bfloat16, or in float32")
      ->delimiter(',')
      ->check(CLI::IsMember({"bfloat16", "float32"}))
      ->type_name("TYPE");
  command
      .add_option(
          "--statistics", argument.statistics,
          "With --device, for networks of the zoo: weights as they are seeded, or with the statistics of trained "
          "ones")
      ->check(CLI::IsMember({"seeded", "trained"}))
      ->default_str("trained");
}

void compare_device(const ModelArgument& argument, const DeviceArgument& device, int threads, const Context& context) {
  const ThreadLimit limit(threads);
  const Machine machine = load_machine(device.device);
  tensix_of(machine);  // an Error for machines of another kind
  const std::vector<tensix::GraphPrecision> all = precisions(device);
  Model model = load_model(argument);
  const bool trained = device.statistics == "trained" && !std::filesystem::exists(argument.model);
  if (trained) model.graph = tensix::with_trained_statistics(std::move(model.graph), model.inputs);
  run_passes(model.graph);
  const Values expected = float32_values(model.graph, model.inputs, threads);
  std::vector<Result> results;
  {
    Progress progress("simulating", all.size(), context.quiet);
    for (const tensix::GraphPrecision& precision : all) {
      progress.at(results.size(), fmt::format("{} {}", name(precision.weights), name(precision.compute.fidelity)));
      results.push_back(simulate(model.graph, model.inputs, expected, precision));
    }
  }
  const Table table = result_table(results);
  if (context.format == Format::json) {
    const nlohmann::json out = {{"schema", 1},
                                {"model", argument.model},
                                {"device", machine.name},
                                {"kind", "simulated"},
                                {"against", "float32"},
                                {"statistics", trained ? "trained" : "as they are"},
                                {"rows", nlohmann::json::parse(render_json(table))["rows"]}};
    context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  context.print(table);
  if (context.quiet || context.format == Format::csv) return;
  context.print(fmt::format("\nsimulated arithmetic of {} against float32 on this CPU{}\n", machine.name,
                            trained ? "; weights seeded, with the statistics of trained ones" : ""));
}

}  // namespace tessera::cli
