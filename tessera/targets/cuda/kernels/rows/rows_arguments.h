#pragma once

// What the host passes to kernels over rows, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

inline constexpr int kWarpThreads = 128;  // of a block, where the lanes of a warp share rows
inline constexpr int kMostPacks = 4;      // of 16 bytes that a lane holds of a row

struct RowsArguments {
  std::int64_t rows;
  std::int32_t length;
  bool log;       // of a softmax
  float epsilon;  // of a normalisation
};

}  // namespace tessera::cuda
