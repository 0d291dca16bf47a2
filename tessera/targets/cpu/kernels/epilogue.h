#pragma once

// What a node has fused into it, in the one form that kernels of convolutions and products take:
//
//   y = pool(after(before(sum + bias) + residual))
//
// where each part may be missing. The pass that fuses (graph/passes/fuse_epilogue.cpp) makes only such chains.

#include "tessera/graph/ops/pool.h"
#include "tessera/kernel_plan/kernel_info.h"
#include "tessera/targets/cpu/kernels/activation.h"

#include <optional>
#include <string>
#include <variant>

namespace tessera::cpu {

struct Epilogue {
  Activation before;
  int residual = -1;  // position in Node::inputs; has the shape of the op's own result
  Activation after;
  const MaxPool* pool = nullptr;  // in the node
};

// The node's fused operators as an Epilogue, or why they are not of that form.
std::variant<Epilogue, Refusal> read_epilogue(const Problem& problem);
// The same of fused[begin, end) alone.
std::variant<Epilogue, Refusal> read_epilogue(const Problem& problem, std::size_t begin, std::size_t end);

// The activation that an operator is, if it is one that kernels know. `low` and `high` are the constants of a Clip.
std::optional<Activation> read_activation(const Op& op, const Array* low, const Array* high);

}  // namespace tessera::cpu
