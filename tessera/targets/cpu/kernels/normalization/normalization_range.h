#pragma once

// The loops of normalising operators over float32 or bfloat16 elements. Sums are made in float over short runs and
// gathered in double.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

struct NormalizationFunctions {
  // The sum of x[i] - center, or of its square.
  double (*sum)(const void* x, std::int64_t n, float center);
  double (*squares)(const void* x, std::int64_t n, float center);
  // The same by columns of a matrix, at most kColumns of them, with `stride` elements from row to row.
  void (*column_sums)(const void* x, std::int64_t rows, std::int64_t stride, int columns, const float* centers,
                      double* sums);
  void (*column_squares)(const void* x, std::int64_t rows, std::int64_t stride, int columns, const float* centers,
                         double* sums);
  // y = (x - center) * factor + shift for n elements, and with one of each for every element.
  void (*affine)(const void* x, void* y, std::int64_t n, float center, float factor, float shift);
  void (*affine_each)(const void* x, void* y, std::int64_t n, const float* centers, const float* factors,
                      const float* shifts);
  // y = (x - center - rest) * factor * scale[i] + bias[i]; the bias may be null.
  void (*scaled)(const void* x, void* y, std::int64_t n, float center, float rest, float factor, const void* scale,
                 const void* bias);
};

constexpr int kColumns = 64;

TSR_EACH_ISA(NormalizationFunctions normalization_functions(bool bfloat16);)

// Across channels: y = x / (bias + factor * sum of squares of `before` channels before to `after` after)^beta for n
// elements side by side of channel c, with `stride` elements from one channel to the next.
struct LrnArgs {
  std::int64_t channels = 0, stride = 0;
  std::int64_t before = 0, after = 0;
  float bias = 1, factor = 0, beta = 0.75f;
};
TSR_EACH_ISA(void lrn_range(const float* x, float* y, std::int64_t c, std::int64_t n, const LrnArgs& args);)

}  // namespace tessera::cpu
