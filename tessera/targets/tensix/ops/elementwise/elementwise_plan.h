#pragma once

// The buffers of an element-wise program, as TTNN makes them on every core of the card, whatever the tensor.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <vector>

namespace tessera::tensix {

// Two tiles each way; none where a shard in L1 is read or written in place.
TSR_API std::vector<CircularBuffer> plan_unary(const TensorSpec& x, const TensorSpec& y, const CoreRangeSet& cores);

struct BinaryProgram {
  const TensorSpec *a = nullptr, *b = nullptr;  // null: a number, which takes one tile
  const TensorSpec* y = nullptr;
  bool a_activations = false, b_activations = false;
};

TSR_API std::vector<CircularBuffer> plan_binary(const BinaryProgram& program, const CoreRangeSet& cores);

}  // namespace tessera::tensix
