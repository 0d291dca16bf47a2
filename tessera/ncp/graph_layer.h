#pragma once

// Liquid layers as graphs, which any target can be given, and back: the layer that an operator Cfc or Ltc is, for
// those who run it by the kernels of this module.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/ncp/layer.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::ncp {

struct LayerGraphOptions {
  std::optional<std::int64_t> batch{}, steps{};  // none: known when the graph is run
  bool timespans = false;                        // an input "timespans" of width 1; otherwise each step takes 1
  bool initial_state = false;                    // an input "initial_state"; otherwise zeros
};

// Inputs "input" and those asked for, outputs "output" and "state" (after the last step), with shapes as in Sequence
// and SequenceResult. A cell of a wiring is one node: masks become zeros among the weights, softplus is applied, signs
// of dialects are in the weights. Mappings and the projection are nodes of their own. Mixed memory is refused.
TSR_API Graph to_graph(const Layer& layer, const ParameterSet<float>& parameters,
                       const LayerGraphOptions& options = {});

// A layer whose outputs are its states.
struct LayerOfNode {
  Layer layer{};
  ParameterSet<float> parameters{};
};
// From the operands of the node, as in Node::inputs; only the weights are read, and they have to be float32.
TSR_API LayerOfNode layer_of(const Cfc& op, std::int64_t inputs, std::span<const Array* const> operands);
TSR_API LayerOfNode layer_of(const Ltc& op, std::span<const Array* const> operands);

}  // namespace tessera::ncp
