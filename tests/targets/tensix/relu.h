#pragma once

// A program of one tensor, for tests that need any.

#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include <span>

namespace tessera::tensix {

inline DeviceTensor relu(const DeviceTensor& x) {
  const VectorFunction function = vector_function("relu");
  return unary("relu", std::span(&function, 1), x);
}

}  // namespace tessera::tensix
