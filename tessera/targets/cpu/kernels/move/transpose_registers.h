#pragma once

// Squares of elements of 4 bytes in registers, rows to columns: 16 x 16 with AVX-512, 8 x 8 with AVX2.

#include "tessera/targets/cpu/kernels/simd.h"

namespace tessera::cpu::TSR_ISA {

#if defined(__AVX2__)

TSR_INLINE void transpose_registers(__m256 (&r)[8]) {
  __m256 t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  const auto low = [](__m256 a, __m256 b) {
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
  };
  const auto high = [](__m256 a, __m256 b) {
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
  };
  // Then lane l of u[4 i + k] is column 4 l + k of rows 4 i to 4 i + 3.
  __m256 u[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i += 4) {
    u[i] = low(t[i], t[i + 2]);
    u[i + 1] = high(t[i], t[i + 2]);
    u[i + 2] = low(t[i + 1], t[i + 3]);
    u[i + 3] = high(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 8
  for (int k = 0; k < 4; ++k) {
    r[k] = _mm256_permute2f128_ps(u[k], u[4 + k], 0x20);
    r[4 + k] = _mm256_permute2f128_ps(u[k], u[4 + k], 0x31);
  }
}

#endif

#if defined(__AVX512F__)

TSR_INLINE void transpose_registers(__m512 (&r)[16]) {
  __m512 t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  const auto low = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  const auto high = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  // Then lane l of u[4 i + k] is column 4 l + k of rows 4 i to 4 i + 3.
  __m512 u[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {
    u[i] = low(t[i], t[i + 2]);
    u[i + 1] = high(t[i], t[i + 2]);
    u[i + 2] = low(t[i + 1], t[i + 3]);
    u[i + 3] = high(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 16
  for (int k = 0; k < 4; ++k) {
    const __m512 even01 = _mm512_shuffle_f32x4(u[k], u[4 + k], 0x88),
                 odd01 = _mm512_shuffle_f32x4(u[k], u[4 + k], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(u[8 + k], u[12 + k], 0x88),
                 odd23 = _mm512_shuffle_f32x4(u[8 + k], u[12 + k], 0xdd);
    r[k] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    r[4 + k] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    r[8 + k] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    r[12 + k] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

#endif

}  // namespace tessera::cpu::TSR_ISA
