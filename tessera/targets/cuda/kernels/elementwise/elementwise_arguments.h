#pragma once

// What the host passes to the element-wise kernel, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

enum class Combination : std::uint8_t { first, add, sub, mul, div, min, max, prelu };

inline constexpr int kMostDimensions = 6;

// y = activation(a o b). Dimensions from the outermost to the innermost; the innermost counts in packs of elements.
// Strides are in elements, 0 where an operand is the same all along.
struct ElementwiseArguments {
  std::int64_t count;  // of packs
  std::int32_t rank;
  std::uint32_t dimensions[kMostDimensions];
  std::int64_t a[kMostDimensions], b[kMostDimensions], y[kMostDimensions];
  Combination combination;
  Activation activation;
};

}  // namespace tessera::cuda
