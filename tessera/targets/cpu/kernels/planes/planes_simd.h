#pragma once

// Rows of a plane in vectors: what begins or ends outside of a row, every second element, and what is done to results.

#include "tessera/targets/cpu/kernels/activation_simd.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"
#include "tessera/targets/cpu/kernels/vectors.h"

// The pointer is what it is: keeps the compiler from working out every address of an unrolled loop ahead, for which
// there are not the registers.
#define TSR_FIXED(pointer) asm("" : "+r"(pointer))

namespace tessera::cpu::TSR_ISA {

struct EvenOdd {
  Vec even, odd;
};

#if defined(__AVX512F__)

// Lanes from `low` to before `high`.
TSR_INLINE Vec::Mask lanes(std::ptrdiff_t low, std::ptrdiff_t high) {
  const auto below = [](std::ptrdiff_t n) {
    n = n < 0 ? 0 : n;
    return (1u << (n > 16 ? 16 : n)) - 1;
  };
  return static_cast<Vec::Mask>(below(high) & ~below(low));
}
// Elements 0, 2, 4, ... and 1, 3, 5, ... of a followed by b.
TSR_INLINE EvenOdd deinterleave(Vec a, Vec b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return {{_mm512_permutex2var_ps(a.v, even, b.v)}, {_mm512_permutex2var_ps(a.v, odd, b.v)}};
}

#elif defined(__AVX2__)

TSR_INLINE Vec::Mask lanes(std::ptrdiff_t low, std::ptrdiff_t high) {
  const auto within = [](std::ptrdiff_t n) { return _mm256_set1_epi32(n < 0 ? 0 : n > 8 ? 8 : static_cast<int>(n)); };
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_castsi256_ps(
      _mm256_andnot_si256(_mm256_cmpgt_epi32(within(low), lane), _mm256_cmpgt_epi32(within(high), lane)));
}
TSR_INLINE EvenOdd deinterleave(Vec a, Vec b) {
  const auto sorted = [](__m256 pairs) {
    return Vec{_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), 0xd8))};
  };
  return {sorted(_mm256_shuffle_ps(a.v, b.v, 0x88)), sorted(_mm256_shuffle_ps(a.v, b.v, 0xdd))};
}

#else

TSR_INLINE Vec::Mask lanes(std::ptrdiff_t low, std::ptrdiff_t high) {
  Vec::Mask mask{};
  for (int i = 0; i < 4; ++i) mask.m[i] = i >= low && i < high ? -1 : 0;
  return mask;
}
TSR_INLINE EvenOdd deinterleave(Vec a, Vec b) {
  return {{Vec::Lanes{a.v[0], a.v[2], b.v[0], b.v[2]}}, {Vec::Lanes{a.v[1], a.v[3], b.v[1], b.v[3]}}};
}

#endif

// Elements [at, at + kWidth) of a row of `count`; 0 for those outside of it.
TSR_INLINE Vec load_within(const float* row, std::ptrdiff_t at, std::ptrdiff_t count) {
  return Vec::load(row + at, lanes(-at, count - at));
}

// after(before(y) + residual), in place, for what is not done while sums are in registers. `residual` may be null.
inline __attribute__((noinline)) void finish_span(const DenseEpilogue& epilogue, const float* residual, float* y,
                                                  std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; i += Vec::kWidth) {
    const Vec::Mask mask = Vec::first(count - i);
    Vec value = apply(epilogue.before, Vec::load(y + i, mask));
    if (residual != nullptr) value = value + Vec::load(residual + i, mask);
    apply(epilogue.after, value).store(y + i, mask);
  }
}

// Bounds of what is done there: all of the epilogue, or nothing.
struct Bounds {
  Vec low, high;
};
TSR_INLINE Bounds bounds_of(const DenseEpilogue& epilogue, bool all) {
  return {Vec::all(all ? epilogue.before_low : -__builtin_inff()),
          Vec::all(all ? epilogue.before_high : __builtin_inff())};
}

}  // namespace tessera::cpu::TSR_ISA
