#pragma once

// Signs, exponents and truth values of Vec (vec.h).

#include "tessera/simd/vec.h"

namespace tessera::simd::TSR_ISA {

// mantissa * 2^exponent with a mantissa in [1, 2).
struct Parts {
  Vec mantissa, exponent;
};

#if defined(TSR_AVX512)

TSR_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  const __m512 bit = _mm512_set1_ps(-0.0f);
  return {_mm512_or_ps(_mm512_andnot_ps(bit, magnitude.v), _mm512_and_ps(bit, sign.v))};
}
// Of a positive finite number, subnormal ones too.
TSR_INLINE Parts parts_of(Vec x) {
  return {{_mm512_getmant_ps(x.v, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)}, {_mm512_getexp_ps(x.v)}};
}
// Bit i tells about lane i.
TSR_INLINE unsigned bits_of(Vec::Mask m) { return m; }
TSR_INLINE float first_of(Vec a) { return _mm512_cvtss_f32(a.v); }

#elif defined(__AVX2__)

TSR_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(bit, magnitude.v), _mm256_and_ps(bit, sign.v))};
}
TSR_INLINE Parts parts_of(Vec x) {
  const Vec::Mask small = x < Vec::all(1.17549435e-38f);
  const Vec normal = select(small, x * Vec::all(16777216.0f), x);
  const __m256i bits = _mm256_castps_si256(normal.v);
  const __m256i exponent = _mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(127));
  const __m256i mantissa =
      _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff)), _mm256_set1_epi32(0x3f800000));
  const Vec e{_mm256_cvtepi32_ps(exponent)};
  return {{_mm256_castsi256_ps(mantissa)}, select(small, e - Vec::all(24.0f), e)};
}
TSR_INLINE unsigned bits_of(Vec::Mask m) { return static_cast<unsigned>(_mm256_movemask_ps(m)); }
TSR_INLINE float first_of(Vec a) { return _mm256_cvtss_f32(a.v); }

#else

TSR_INLINE Vec copy_sign(Vec magnitude, Vec sign) {
  Vec out;
  for (int i = 0; i < 4; ++i) out.v[i] = __builtin_copysignf(magnitude.v[i], sign.v[i]);
  return out;
}
TSR_INLINE Parts parts_of(Vec x) {
  Parts out;
  for (int i = 0; i < 4; ++i) {
    const bool small = x.v[i] < 1.17549435e-38f;
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, small ? x.v[i] * 16777216.0f : x.v[i]);
    out.mantissa.v[i] = __builtin_bit_cast(float, (bits & 0x007fffffu) | 0x3f800000u);
    out.exponent.v[i] = static_cast<float>(static_cast<int>(bits >> 23) - 127 - (small ? 24 : 0));
  }
  return out;
}
TSR_INLINE unsigned bits_of(Vec::Mask m) {
  unsigned bits = 0;
  for (int i = 0; i < 4; ++i) bits |= (m.m[i] & 1u) << i;
  return bits;
}
TSR_INLINE float first_of(Vec a) { return a.v[0]; }

#endif

}  // namespace tessera::simd::TSR_ISA
