#pragma once

// What the host passes to reductions, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

enum class Reduction : std::uint8_t { sum, mean, max, min, prod, l1, l2, sum_square, log_sum, log_sum_exp };

inline constexpr int kMostReduceDimensions = 6;

// Dimensions from the outermost to the innermost, in elements of x: those that stay, in the order of the result, and
// those that go.
struct ReduceArguments {
  std::int64_t results, length;  // length: elements of each
  std::int32_t kept_rank, gone_rank;
  std::uint32_t kept[kMostReduceDimensions], gone[kMostReduceDimensions];
  std::int64_t kept_step[kMostReduceDimensions], gone_step[kMostReduceDimensions];
  Reduction kind;
};

}  // namespace tessera::cuda
