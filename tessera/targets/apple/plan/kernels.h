#pragma once

// The kernels that MLX launches for a network under mx.compile: what it computes element by element is joined where
// nobody else reads what lies between.

#include "tessera/core/export.h"
#include "tessera/targets/apple/plan/primitives.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::apple {

struct MlxKernel {
  std::vector<int> primitives;  // of the program, in its order
  std::vector<int> reads;       // arrays; views as what they are views of
  int output = -1;              // array
  double read_bytes = 0, written_bytes = 0;
  double flops = 0, specials = 0;
  int launches = 1;
  int repeats = 1;  // steps of a loop

  bool compiled() const { return primitives.size() > 1; }
};

// In an order in which they can run.
TSR_API std::vector<MlxKernel> compiled_kernels(const MlxProgram& program);

// Arrays in memory at once, the most at any time, weights and inputs apart. What is read last is freed behind its
// reader.
TSR_API std::int64_t peak_bytes(const MlxProgram& program, const std::vector<MlxKernel>& kernels);

}  // namespace tessera::apple
