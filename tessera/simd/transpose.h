#pragma once

// Squares of elements of 4 bytes in registers, rows to columns: 16 x 16 with AVX-512, 8 x 8 with AVX2.

#include "tessera/simd/vec.h"

namespace tessera::simd::TSR_ISA {

#if defined(__AVX2__)

// Elements of both, within 16-byte lanes: the first or the second halves of each, one by one or two by two.
TSR_INLINE __m256 mix_low(__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); }
TSR_INLINE __m256 mix_high(__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); }
TSR_INLINE __m256 mix_low_pairs(__m256 a, __m256 b) {
  return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
TSR_INLINE __m256 mix_high_pairs(__m256 a, __m256 b) {
  return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
#if defined(__AVX512F__)
TSR_INLINE __m512 mix_low(__m512 a, __m512 b) { return _mm512_unpacklo_ps(a, b); }
TSR_INLINE __m512 mix_high(__m512 a, __m512 b) { return _mm512_unpackhi_ps(a, b); }
TSR_INLINE __m512 mix_low_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
TSR_INLINE __m512 mix_high_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
#endif

// Squares of 4 within lanes: lane l of u[4 i + k] becomes column 4 l + k of rows 4 i to 4 i + 3.
template <class Register, int N>
TSR_INLINE void transpose_lanes(const Register (&r)[N], Register (&u)[N]) {
  Register t[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; i += 2) {
    t[i] = mix_low(r[i], r[i + 1]);
    t[i + 1] = mix_high(r[i], r[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; i += 4) {
    u[i] = mix_low_pairs(t[i], t[i + 2]);
    u[i + 1] = mix_high_pairs(t[i], t[i + 2]);
    u[i + 2] = mix_low_pairs(t[i + 1], t[i + 3]);
    u[i + 3] = mix_high_pairs(t[i + 1], t[i + 3]);
  }
}

TSR_INLINE void transpose_registers(__m256 (&r)[8]) {
  __m256 u[8];
  transpose_lanes(r, u);
#pragma GCC unroll 8
  for (int k = 0; k < 4; ++k) {
    r[k] = _mm256_permute2f128_ps(u[k], u[4 + k], 0x20);
    r[4 + k] = _mm256_permute2f128_ps(u[k], u[4 + k], 0x31);
  }
}

#endif

#if defined(__AVX512F__)

TSR_INLINE void transpose_registers(__m512 (&r)[16]) {
  __m512 u[16];
  transpose_lanes(r, u);
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

}  // namespace tessera::simd::TSR_ISA
