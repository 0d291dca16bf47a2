#pragma once

// Rewrites of a graph that keep what it computes. Each is a file of this folder and a line in pipeline.cpp.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Pass {
  std::string_view name;  // what switches it off
  std::string_view what;  // one line for people
  bool (*run)(Graph&);    // whether it changed anything
};

struct PassOptions {
  std::vector<std::string> off;  // names of passes to leave out
  bool verify = true;            // check the rules of graphs after each
};

// In the order in which they run.
TSR_API std::span<const Pass> all_passes();

// Runs the passes that are not switched off; types are inferred before the first and after each that changed something.
// A name that no pass has is an Error that lists the names, and then the graph is as it was.
TSR_API void run_passes(Graph& graph, const PassOptions& options = {});

// Nodes whose result is known become constants: those that read only constants, and shapes of values of known shape.
// Results that are large, and nodes that fail, are left to the run.
TSR_API bool fold_constants(Graph& graph);

// Scales and shifts of each channel behind a Conv, ConvTranspose or Gemm go into its weights and bias, all constant:
// inference BatchNorm, and sums, differences, products and quotients with one constant for each channel.
TSR_API bool fold_batch_norm(Graph& graph);

// A Pad with zeros before a Conv or an AveragePool becomes padding of its own. (That of a MaxPool is not zeros.)
TSR_API bool fold_pads(Graph& graph);

// MatMul of matrices with a constant second one becomes Gemm, which can take a bias.
TSR_API bool matmul_to_gemm(Graph& graph);

// Of nodes that compute the same from the same, one stays; equal small constants become one.
TSR_API bool eliminate_duplicates(Graph& graph);

// Activations, a residual sum and a pool that follow a Conv, ConvTranspose, Gemm or MatMul become Node::fused:
// y = pool(after(before(product + bias) + residual)).
TSR_API bool fuse_epilogue(Graph& graph);
// Whether an operator can be `before` or `after`; a Clip must have constant bounds.
TSR_API bool may_fuse_activation(const Op& op);

// Drops nodes that no output of the graph needs, and values that nothing refers to; ids change. Inputs of the graph
// stay.
TSR_API bool remove_dead_code(Graph& graph);

}  // namespace tessera
