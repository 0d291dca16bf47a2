#pragma once

// The inner loop of product_values.h: 6 x 32 numbers of Dst take up tiles of k. Included by files that are compiled for
// one instruction set, so it holds declarations only.

#include <cstdint>

namespace tessera::tensix {

struct ProductRun {
  static constexpr int kRows = 6, kColumns = 32, kDepth = 32;
  static constexpr int kLeftFloats = kDepth * kRows;      // of one slice of one tile of k: [k][row]
  static constexpr int kRightFloats = kDepth * kColumns;  // [k][column]

  const float* left;          // for each tile of k: the slice of phases 0 and 1, then that of phases 2 and 3
  const float* const* right;  // for each tile of k: the slice of phases 0 and 2, then that of 1 and 3; null: zeros
  std::int64_t tiles;         // of k
  float* dst;                 // [row][column]
  int phases;
  bool float32;  // what Dst holds
};

#define K(isa)                                      \
  namespace isa {                                   \
  void product_run(const ProductRun& run) noexcept; \
  }
#include "tessera/targets/tensix/ops/matmul/product_values.def"
#undef K

}  // namespace tessera::tensix
