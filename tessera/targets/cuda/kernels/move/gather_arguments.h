#pragma once

// What the host passes to Gather, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

struct GatherArguments {
  std::int64_t count;                  // of results
  std::int64_t extent, inner, picked;  // of the axis, of what is behind it, positions
};

}  // namespace tessera::cuda
