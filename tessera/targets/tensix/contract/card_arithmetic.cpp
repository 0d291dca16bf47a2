// What a card's arithmetic costs in accuracy, for every choice of types.

#include "tessera/targets/tensix/contract/card_views.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/report/difference.h"
#include "tessera/report/table.h"
#include "tessera/report/table_rows.h"
#include "tessera/targets/tensix/network/graph_values.h"
#include "tessera/targets/tensix/network/trained_statistics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tessera::tensix {
namespace {

constexpr std::string_view kTypes[] = {"bfloat16/bfloat16", "bfloat8_b/bfloat16", "bfloat8_b/bfloat8_b",
                                       "bfloat4_b/bfloat8_b"};
constexpr std::string_view kAccumulations[] = {"bfloat16", "float32"};
constexpr MathFidelity kFidelities[] = {MathFidelity::lofi, MathFidelity::hifi2, MathFidelity::hifi3,
                                        MathFidelity::hifi4};

using Values = std::map<std::string, Array>;

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

struct ArithmeticResult {
  GraphPrecision precision;
  double pcc = 1, error = 0;  // of the output that is furthest off
  std::string worst_layer;
  double worst_pcc = 2;
};

// NaN where it should not be, or a constant: as bad as it gets.
double correlation_with(const Array& found, const Array& expected) {
  const Difference d = difference(found, expected);
  return d.pcc ? *d.pcc : d.max_abs == 0 ? 1 : 0;
}

ArithmeticResult simulated_arithmetic(const Graph& graph, const std::vector<Array>& inputs, const Values& expected,
                                      const GraphPrecision& precision) {
  ArithmeticResult result{precision, 1, 0, "", 2};
  const auto compared = [&](ValueId id) -> const Array* {
    const auto at = expected.find(graph.value(id).name);
    return at != expected.end() && at->second.type() == ElementType::float32 && at->second.count() > 1 ? &at->second
                                                                                                       : nullptr;
  };
  const std::vector<Array> outputs = graph_values(graph, inputs, precision, [&](const Node& node, const Array& found) {
    const Array* there = compared(node.outputs[0]);
    if (there == nullptr) return;
    const double pcc = correlation_with(found, *there);
    if (pcc >= result.worst_pcc) return;
    result.worst_pcc = pcc;
    result.worst_layer = node.name;
  });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Array* there = compared(graph.outputs[i]);
    if (there == nullptr) continue;
    result.pcc = std::min(result.pcc, correlation_with(outputs[i], *there));
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

std::vector<GraphPrecision> precisions(const ArithmeticRequest& argument) {
  std::vector<GraphPrecision> all;
  std::vector<MathFidelity> fidelities;
  for (const MathFidelity fidelity : kFidelities)
    if (argument.fidelities.empty() ||
        std::find(argument.fidelities.begin(), argument.fidelities.end(), name(fidelity)) != argument.fidelities.end())
      fidelities.push_back(fidelity);
  for (const std::string& types : chosen(argument.types, kTypes)) {
    const std::size_t slash = types.find('/');
    check(slash != std::string::npos, Code::invalid_argument,
          "--types {}: weights and activations are wanted, as in bfloat8_b/bfloat16", types);
    for (const MathFidelity fidelity : fidelities)
      for (const std::string& accumulation : chosen(argument.accumulations, kAccumulations)) {
        GraphPrecision precision;
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

Table result_table(const std::vector<ArithmeticResult>& results) {
  Table table({{.name = "weights"},
               {.name = "activations"},
               {.name = "fidelity"},
               {.name = "accumulates in", .key = "accumulation"},
               {.name = "PCC", .key = "pcc", .align = Align::right},
               {.name = "relative error", .key = "relative_error", .align = Align::right},
               {.name = "worst layer", .key = "worst_layer"},
               {.name = "its PCC", .key = "worst_pcc", .align = Align::right}});
  const auto pcc = [](double value) { return Cell(value, fmt::format("{:.5f}", value)); };
  for (const ArithmeticResult& r : results)
    table.add_row({name(r.precision.weights), name(r.precision.activations), name(r.precision.compute.fidelity),
                   r.precision.compute.fp32_dest_acc_en ? "float32" : "bfloat16", pcc(r.pcc),
                   Cell(r.error, fmt::format("{:.3g}", r.error)), r.worst_layer, pcc(r.worst_pcc)});
  return table;
}

}  // namespace

View compare_card_arithmetic(LoadedNetwork network, const Machine& machine, const ArithmeticRequest& request,
                             const SimulateHooks& hooks) {
  tensix_of(machine);  // an Error for machines of another kind
  const std::vector<GraphPrecision> all = precisions(request);
  if (request.trained_statistics) network.graph = with_trained_statistics(std::move(network.graph), network.inputs);
  run_passes(network.graph);
  const Values expected = hooks.reference(network.graph, network.inputs, ReferenceDepth::exact_values).values;
  std::vector<ArithmeticResult> results;
  for (const GraphPrecision& precision : all) {
    if (hooks.on_progress)
      hooks.on_progress(results.size(), all.size(),
                        fmt::format("{} {}", name(precision.weights), name(precision.compute.fidelity)));
    results.push_back(simulated_arithmetic(network.graph, network.inputs, expected, precision));
  }
  const Table table = result_table(results);
  const nlohmann::json out = {{"schema", 1},
                              {"model", network.model},
                              {"device", machine.name},
                              {"kind", "simulated"},
                              {"against", "float32"},
                              {"statistics", request.trained_statistics ? "trained" : "as they are"},
                              {"rows", table_rows(table)}};
  View view;
  view.parts.push_back(
      {.table = table,
       .after =
           fmt::format("\nsimulated arithmetic of {} against float32 on this CPU{}\n", machine.name,
                       request.trained_statistics ? "; weights seeded, with the statistics of trained ones" : "")});
  view.json = out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return view;
}

}  // namespace tessera::tensix
