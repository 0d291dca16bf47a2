#pragma once

// Rewrites of a graph that keep what it computes. Each is a file of this folder and a line in pipeline.cpp.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/graph/graph.h"

#include <cstdint>
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

// Runs the passes that are not switched off, over the bodies of If and Loop too, in rounds until nothing changes; types
// are inferred before the first and after each that changed something.
// A name that no pass has is an Error that lists the names, and then the graph is as it was.
TSR_API void run_passes(Graph& graph, const PassOptions& options = {});

// What is computed in float between DequantizeLinear and QuantizeLinear is computed in integers: convolutions and dense
// layers with the bounds behind them (QLinearConv, QLinearMatMul), residual sums, averages over images, any function of
// one byte, and operators that only move or choose elements. A result may differ by one quantum from that in float
// where float would have come out halfway between two. Before constants are folded, while weights are still bytes.
TSR_API bool fuse_quantization(Graph& graph);

// Whether an operator only moves, repeats or chooses elements of its first operand, so that bytes do as well as floats.
TSR_API bool moves_elements(const Op& op);

// Nodes whose result is known become constants: those that read only constants, and shapes of values of known shape.
// Results that are large, and nodes that fail, are left to the run.
TSR_API bool fold_constants(Graph& graph);

// Scales and shifts of each channel behind a Conv, ConvTranspose or Gemm go into its weights and bias, all constant:
// inference BatchNorm, and sums, differences, products and quotients with one constant for each channel.
TSR_API bool fold_batch_norm(Graph& graph);

// A Pad with zeros before a Conv or an AveragePool becomes padding of its own. (That of a MaxPool is not zeros.)
TSR_API bool fold_pads(Graph& graph);

// Shapes computed at run time become constants where all but extents that stay as they are is known: targets of Reshape
// with 0 and -1, sizes of Resize. Nodes that do nothing go (identities, dropout, slices of everything, ...), and a
// branch whose condition is constant takes the place of its If.
TSR_API bool eliminate_shape_arithmetic(Graph& graph);

// Transposes move behind operators that work element by element and along axes, merge and cancel; those that only move
// extents of 1 become Reshape. Reshapes, Flattens, Squeezes and Unsqueezes in a row become one, or none.
TSR_API bool eliminate_transposes(Graph& graph);

// Activations and layer normalisation that are spelled out become what they are (silu, hard_swish, hard_sigmoid, mish,
// gelu, LayerNorm), bounds in a row one Clip or relu, averages over images GlobalPool; powers of 2 and 0.5 and
// divisions by powers of two become cheaper.
TSR_API bool recognize_activations(Graph& graph);

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

// Not one of all_passes(), since it needs shapes and the sizes of a machine's caches: a planning stage of kernels calls
// it. Joins a depthwise Conv with the Conv before it and the 1x1 Conv behind it into one node that runs row by row,
// where the value between is large.
struct ChainLimits {
  std::int64_t min_bytes = 1 << 20;         // of a value that is worth it: less stays in a cache
  std::int64_t max_rows_bytes = 1 << 19;    // of the rows of it that are kept
  std::int64_t max_weight_bytes = 1 << 18;  // of a convolution beside it, read once for some rows
};
TSR_API bool fuse_chains(Graph& graph, const ChainLimits& limits = {});

// Not of all_passes() either, since they are for targets with kernels for whole token networks. Shapes must be known.
//
// softmax(scale Q K^T + bias) V becomes one Attention, with the transposes and reshapes between tokens and heads and
// the scales of Q and K in it; scores that anybody else reads stay.
TSR_API bool fuse_attention(Graph& graph);
// MatMul of values of more than two dimensions with a constant matrix becomes Gemm between two Reshapes; a bias, scales
// of channels, activations and residual sums behind it, also those behind a Transpose, move to the matrix.
TSR_API bool products_of_tokens(Graph& graph);
// Slices, joins and transposes that move whole rows of channels, several in a row, become one Gather of rows.
TSR_API bool merge_moves(Graph& graph);

// Nor this one, for targets that have no BatchNorm of their own: one that follows no product it could be folded into
// becomes a product and a sum with one number for each channel.
TSR_API bool spell_out_batch_norm(Graph& graph);

// Cfc and Ltc with constant float32 weights become a Loop of ordinary arithmetic: for export, since ONNX lacks them.
// Slower than the operators, and so not one of all_passes().
TSR_API bool expand_liquid_cells(Graph& graph);

// Not one of all_passes(), since it changes what comes out: keeps float32 values and weights of convolutions, products,
// pools and element-wise arithmetic as bfloat16 or float16. Inputs and outputs of the graph stay what they were.
enum class NarrowRange : std::uint8_t {
  images,  // what convolutional networks are made of
  tokens,  // norms, softmax, attention, averages and choices of elements as well
};
TSR_API void store_narrow(Graph& graph, ElementType type, NarrowRange range = NarrowRange::images);

// Likewise not one of them: rounds the float32 weights of Conv (but not depthwise ones), Gemm and MatMul to values that
// bfloat16, bfloat8_b or bfloat4_b can hold, as the host rounds (core/block_float.h). 16 neighbouring output channels
// (of a group) share an exponent, at each input channel and tap: as in TTNN, where weights are a matrix with a row for
// each of those, and blocks lie along rows. They stay float32 here; what they cost in accuracy can be seen without a
// kernel.
TSR_API void round_weights(Graph& graph, DType dtype);

}  // namespace tessera
