#pragma once

// Reductions of [outer][length][inner] along the middle, in double as the definition does: what is worked out once and
// the kernels read.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

enum class Reduction : std::uint8_t { sum, sum_abs, sum_square, product, max, min };
enum class ReductionEnd : std::uint8_t { none, divide, square_root, log };

struct ReduceJob {
  Reduction kind = Reduction::sum;
  ReductionEnd end = ReductionEnd::none;
  double divisor = 1;
  bool bf16 = false;
  std::int64_t outer = 1, length = 1, inner = 1;
  // Where result o begins, if not at o * length * inner; and where else its elements begin, relative to that, when what
  // is reduced does not lie together.
  const std::int64_t* outer_at = nullptr;  // [outer]
  const std::int64_t* parts_at = nullptr;  // [parts]
  std::int64_t parts = 1;
  std::int64_t blocks = 1;  // of kReduceBlock results each, along inner
  const void* x = nullptr;
  void* y = nullptr;
};
constexpr std::int64_t kReduceBlock = 256;

// Units of work: outer, times blocks.
using ReduceKernel = void (*)(const ReduceJob& job, std::int64_t begin, std::int64_t end);
TSR_EACH_ISA(void reduce(const ReduceJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
