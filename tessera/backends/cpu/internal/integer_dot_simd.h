#pragma once

#include "tessera/backends/cpu/internal/integer_dot.h"
#include "tessera/backends/cpu/internal/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::cpu::TSR_ISA {
namespace {

// Pairs of neighbours are multiplied and added into one lane.
#if defined(__AVX2__)
using Lanes = __m256i;
TSR_INLINE Lanes no_lanes() { return _mm256_setzero_si256(); }
TSR_INLINE void add_pairs(Lanes& sum, const std::int16_t* a, const std::int16_t* b) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                                                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b))));
}
TSR_INLINE std::int32_t total(Lanes sum) {
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}
#else
struct Lanes {
  std::int32_t at[8];
};
TSR_INLINE Lanes no_lanes() { return {}; }
TSR_INLINE void add_pairs(Lanes& sum, const std::int16_t* a, const std::int16_t* b) {
  for (int i = 0; i < 8; ++i)
    sum.at[i] +=
        static_cast<std::int32_t>(a[2 * i]) * b[2 * i] + static_cast<std::int32_t>(a[2 * i + 1]) * b[2 * i + 1];
}
TSR_INLINE std::int32_t total(const Lanes& sum) {
  std::int32_t out = 0;
  for (const std::int32_t v : sum.at) out += v;
  return out;
}
#endif

template <int kRows, int kColumns>
TSR_INLINE void block(const std::int16_t* a, const std::int16_t* b, std::int64_t length, std::int32_t* y,
                      std::int64_t y_stride) {
  Lanes sums[kRows][kColumns];
  for (auto& row : sums)
    for (Lanes& sum : row) sum = no_lanes();
  for (std::int64_t k = 0; k < length; k += kIntegerStep)
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) add_pairs(sums[i][j], a + i * length + k, b + j * length + k);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) y[i * y_stride + j] = total(sums[i][j]);
}

template <int kRows>
TSR_INLINE void strip(const std::int16_t* a, const std::int16_t* b, std::int64_t columns, std::int64_t length,
                      std::int32_t* y, std::int64_t y_stride) {
  std::int64_t j = 0;
  for (; j + 4 <= columns; j += 4) block<kRows, 4>(a, b + j * length, length, y + j, y_stride);
  for (; j < columns; ++j) block<kRows, 1>(a, b + j * length, length, y + j, y_stride);
}

}  // namespace

void integer_dots(const std::int16_t* a, std::int64_t rows, const std::int16_t* b, std::int64_t columns,
                  std::int64_t length, std::int32_t* y, std::int64_t y_stride) {
  std::int64_t i = 0;
  for (; i + 2 <= rows; i += 2) strip<2>(a + i * length, b, columns, length, y + i * y_stride, y_stride);
  for (; i < rows; ++i) strip<1>(a + i * length, b, columns, length, y + i * y_stride, y_stride);
}

}  // namespace tessera::cpu::TSR_ISA
