#pragma once

// What the host passes to copying kernels, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

inline constexpr int kMostCopyDimensions = 6;

// Dimensions from the outermost to the innermost; the innermost counts in packs. Strides are in elements.
struct CopyArguments {
  std::int64_t count;  // of packs
  std::int32_t rank;
  std::uint32_t dimensions[kMostCopyDimensions];
  std::int64_t x[kMostCopyDimensions], y[kMostCopyDimensions];
};

}  // namespace tessera::cuda
