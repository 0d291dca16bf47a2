#pragma once

// What the host passes to comparisons, logic and choices, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

enum class Question : std::uint8_t {
  equal,
  less,
  less_equal,
  greater,
  greater_equal,
  both,
  either,
  one,  // and not the other
  no,
  nan,
  negative_infinity,
  positive_infinity,
  infinity,
};

inline constexpr int kMostChoiceDimensions = 6;

// Dimensions from the outermost to the innermost. Strides are in elements, 0 where an operand is the same all along.
// The operands of a question are a and b; c is what chooses between them.
struct ChoiceArguments {
  std::int64_t count;
  std::int32_t rank;
  std::uint32_t dimensions[kMostChoiceDimensions];
  std::int64_t y[kMostChoiceDimensions], a[kMostChoiceDimensions], b[kMostChoiceDimensions], c[kMostChoiceDimensions];
  Question question;
};

}  // namespace tessera::cuda
