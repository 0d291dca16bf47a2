#pragma once

// What the host passes to products of two values, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

inline constexpr int kMatmulTile = 64;         // rows and columns of a block
inline constexpr int kMatmulDepth = 32;        // of a step, on tensor cores
inline constexpr int kMatmulScalarDepth = 16;  // with fused multiply-adds
inline constexpr int kMostBatchDimensions = 4;

// y = activation(alpha a b + beta c + residual) for every matrix of a batch. Steps are in elements and may be 0.
struct MatmulArguments {
  std::int32_t rows, depth, columns;
  std::int64_t a_row, a_depth, b_depth, b_column, c_row, c_column;
  std::int32_t batch_rank;
  std::int32_t batch[kMostBatchDimensions];  // from the outermost to the innermost
  std::int64_t a_batch[kMostBatchDimensions], b_batch[kMostBatchDimensions];
  float alpha, beta;
  Activation activation;
};

}  // namespace tessera::cuda
