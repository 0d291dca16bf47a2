#pragma once

// What a whole network comes to on the card: every node by the card's arithmetic, with values packed to their type
// between nodes. Values only; where they would lie and what they would cost is not asked.
//
// A Conv in two dimensions, Gemm, element-wise arithmetic and functions, maxima, averages, softmax run as numerics.h
// has it. Any other node is worked out by its definition and its result packed, which is exact for those that only move
// numbers.

#include "tessera/core/array.h"
#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_values.h"

#include <functional>
#include <vector>

namespace tessera::tensix {

struct GraphPrecision {
  DType weights = DType::bfloat16;
  DType activations = DType::bfloat16;  // of all results; inputs and what pools make are bfloat16 at least
  ComputeConfig compute = {};
  bool operator==(const GraphPrecision&) const = default;
};

// Float values become values of the card's types on their way in. The graph should have been through run_passes() (no
// batch norms; activations, sums and pools fused where they can be): a node with what is fused into it is computed in
// several steps, as on the card, and `observer` sees the result of the last. (It may change constants that later nodes
// read.)
TSR_API std::vector<Array> graph_values(const Graph& graph, const std::vector<Array>& inputs,
                                        const GraphPrecision& precision,
                                        const std::function<void(const Node&, const Array&)>& observer = {});

// The order of a convolution's reduction where no plan says it: height sharding, a block for each kernel row; one that
// runs as a matmul has one block.
TSR_API Conv2dOrder default_order(std::int64_t in_channels, const SlidingWindow& window);

// The type of partial results: that of Dst where the packer adds them up in L1, else the output's.
TSR_API DType partials_dtype(const ComputeConfig& compute, DType output, std::int64_t blocks, bool bias);

}  // namespace tessera::tensix
