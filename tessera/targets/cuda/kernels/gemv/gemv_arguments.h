#pragma once

// What the host passes to products of few rows, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

inline constexpr int kGemvRows = 4;   // at most
inline constexpr int kGemvWarps = 8;  // of a block, one for each column at a time

struct GemvArguments {
  std::int32_t rows, depth, columns;  // depth: a multiple of what 16 bytes hold
  Activation activation;
};

}  // namespace tessera::cuda
