#pragma once

// What a node has fused into it, in the form that kernels of convolutions and products take:
//
//   y = pool(activation(sum + bias + residual))
//
// where each part may be missing. Of curves, convolutions of images take silu and gelu, and none with a residual;
// depthwise ones and products of single pixels take all (tiles_take()). The graph fuses more than that (an activation
// before the residual, pools of any window): split_epilogues() makes nodes of the rest before a network is planned.

#include "tessera/core/export.h"
#include "tessera/kernel_plan/kernel_info.h"
#include "tessera/targets/cuda/kernels/activation.h"

#include <optional>
#include <variant>

namespace tessera::cuda {

struct Epilogue {
  Activation activation;
  int residual = -1;  // position in Node::inputs; has the shape of the op's own result
  int pool = 1;       // 2: the largest of each 2x2
};

// The activation that an operator is, if kernels know it. `low` and `high` are the constants of a Clip.
std::optional<Activation> read_activation(const Op& op, const Array* low, const Array* high);

// The node's fused operators as an Epilogue, or why they are not of that form.
std::variant<Epilogue, Refusal> read_epilogue(const Problem& problem);

// Every fused operator behind those that kernels take becomes a node of its own. Types must be known.
TSR_API void split_epilogues(tessera::Graph& graph);

}  // namespace tessera::cuda
