#pragma once

// What the host passes to kernels over rows, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

struct RowsArguments {
  std::int64_t rows;
  std::int32_t length;
  bool log;       // of a softmax
  float epsilon;  // of a normalisation
};

}  // namespace tessera::cuda
