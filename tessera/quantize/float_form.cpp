#include "tessera/quantize/float_form.h"

#include "tessera/core/error.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/kernel_plan/planning_stages.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 6> kWanted = {
    "eliminate_shape_arithmetic", "constant_folding", "fold_batch_norm", "fold_pads",
    "eliminate_duplicates",       "dead_code"};
constexpr std::array<std::string_view, 2> kHarmless = {"constant_folding", "dead_code"};

template <class Names>
std::vector<std::string> passes_but(const Names& names) {
  std::vector<std::string> off;
  for (const Pass& pass : all_passes())
    if (std::ranges::find(names, pass.name) == names.end()) off.emplace_back(pass.name);
  return off;
}

}  // namespace

Graph float_form(const Graph& graph) {
  for (const Node& node : graph.nodes)
    check(!std::holds_alternative<QuantizeLinear>(node.op) && !std::holds_alternative<DequantizeLinear>(node.op) &&
              !std::holds_alternative<QLinearConv>(node.op) && !std::holds_alternative<QLinearMatMul>(node.op),
          Code::invalid_argument, Hint{"start from the network in float32"},
          "the network computes with bytes already: '{}' is {}", node.name, name(node.op));
  Graph out = graph;
  run_passes(out, {.off = passes_but(kWanted)});
  return out;
}

std::vector<std::string> passes_that_fuse() {
  std::vector<std::string> off = passes_but(kHarmless);
  off.emplace_back(kFuseChains);
  return off;
}

}  // namespace tessera
