#pragma once

// Elements of a row at a stride, copied next to each other.

#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {

// from[0], from[2], ...: one vector of them, and nothing behind the last is read.
TSR_INLINE Vec load_even(const float* from) {
#if defined(TSR_AVX512)
  const __m512i places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return {_mm512_permutex2var_ps(_mm512_loadu_ps(from), places, _mm512_loadu_ps(from + 15))};
#elif defined(__AVX2__)
  const __m256 both = _mm256_shuffle_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 7), _MM_SHUFFLE(3, 1, 2, 0));
  return {_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(both), _MM_SHUFFLE(3, 1, 2, 0)))};
#else
  return {Vec::Lanes{from[0], from[2], from[4], from[6]}};
#endif
}

// to[i] = from[i * stride] for i < n.
TSR_INLINE void copy_strided(const float* from, std::int64_t stride, float* to, std::int64_t n) {
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + Vec::kWidth <= n; i += Vec::kWidth) Vec::load(from + i).store(to + i);
    if (i < n) {
      const Vec::Mask rest = Vec::first(n - i);
      Vec::load(from + i, rest).store(to + i, rest);
    }
    return;
  }
  if (stride == 2 && n >= Vec::kWidth) {
    for (; i + Vec::kWidth <= n; i += Vec::kWidth) load_even(from + 2 * i).store(to + i);
    if (i < n) load_even(from + 2 * (n - Vec::kWidth)).store(to + n - Vec::kWidth);  // some of them twice
    return;
  }
  for (; i < n; ++i) to[i] = from[i * stride];
}

TSR_INLINE void fill_zeros(float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) Vec::zero().store(to + i);
  if (i < n) Vec::zero().store(to + i, Vec::first(n - i));
}

// to[i] = row[first + i * stride] for i < n, where the row has `width` elements and zeros on both sides.
TSR_INLINE void copy_padded(const float* row, std::int64_t width, std::int64_t first, std::int64_t stride, float* to,
                            std::int64_t n) {
  std::int64_t low = first >= 0 ? 0 : (-first + stride - 1) / stride;
  std::int64_t high = first >= width ? 0 : (width - first + stride - 1) / stride;
  if (high > n) high = n;
  if (low > high) low = high;
  if (low > 0) fill_zeros(to, low);
  if (low < high) copy_strided(row + (first + low * stride), stride, to + low, high - low);
  if (high < n) fill_zeros(to + high, n - high);
}

}  // namespace tessera::cpu::TSR_ISA
