#pragma once

// Vec: one vector of floats for the instruction set that the including file is compiled for (instruction_set.h). The
// same names mean the same in every set; only the width differs, and whether fma() rounds once (portable: twice).

#include "tessera/simd/instruction_set.h"

#include <cstddef>
#include <cstdint>

namespace tessera::simd::TSR_ISA {

// Bits of a bfloat16, apart from the class in core so that nothing inline of it is made here.
using Bf16 = std::uint16_t;

#if defined(TSR_AVX512)

struct Vec {
  static constexpr int kWidth = 16;
  using Mask = __mmask16;
  __m512 v;

  static TSR_INLINE Mask first(std::ptrdiff_t n) { return n >= 16 ? Mask(0xffff) : Mask((1u << n) - 1); }
  static TSR_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
  static TSR_INLINE Vec all(float x) { return {_mm512_set1_ps(x)}; }
  static TSR_INLINE Vec load(const float* at) { return {_mm512_loadu_ps(at)}; }
  static TSR_INLINE Vec load(const float* at, Mask m) { return {_mm512_maskz_loadu_ps(m, at)}; }  // others: 0
  static TSR_INLINE Vec load(const Bf16* at) {
    return {_mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at))), 16))};
  }
  static TSR_INLINE Vec load(const Bf16* at, Mask m) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, at)), 16))};
  }
  TSR_INLINE void store(float* at) const { _mm512_storeu_ps(at, v); }
  TSR_INLINE void store(float* at, Mask m) const { _mm512_mask_storeu_ps(at, m, v); }
  TSR_INLINE void store(Bf16* at) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), to_bf16()); }
  TSR_INLINE void store(Bf16* at, Mask m) const { _mm256_mask_storeu_epi16(at, m, to_bf16()); }
  // Ties to even; NaN stays NaN.
#if defined(__AVX512BF16__)
  TSR_INLINE __m256i to_bf16() const { return (__m256i)_mm512_cvtneps_pbh(v); }  // and subnormal numbers become 0
#else
  TSR_INLINE __m256i to_bf16() const {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16));
  }
#endif

  friend TSR_INLINE Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend TSR_INLINE Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend TSR_INLINE Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend TSR_INLINE Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
  friend TSR_INLINE Mask operator<(Vec a, Vec b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ); }
  friend TSR_INLINE Mask operator<=(Vec a, Vec b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ); }
  friend TSR_INLINE Mask operator==(Vec a, Vec b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ); }
};
TSR_INLINE Vec operator-(Vec a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
TSR_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }    // a * b + c
TSR_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }  // c - a * b
TSR_INLINE Vec min_second(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }           // b if either is NaN
TSR_INLINE Vec max_second(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
TSR_INLINE Vec select(Vec::Mask m, Vec yes, Vec no) { return {_mm512_mask_blend_ps(m, no.v, yes.v)}; }
TSR_INLINE Vec::Mask is_nan(Vec a) { return _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q); }
TSR_INLINE Vec abs(Vec a) { return {_mm512_abs_ps(a.v)}; }
TSR_INLINE Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
TSR_INLINE Vec round(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec floor(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec ceil(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec trunc(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
// x * 2^n for a whole n; what leaves the range of float becomes 0, subnormal or infinity as it should.
TSR_INLINE Vec scale_by_power_of_two(Vec x, Vec n) { return {_mm512_scalef_ps(x.v, n.v)}; }
TSR_INLINE Vec scale_within_normal(Vec x, Vec n) { return scale_by_power_of_two(x, n); }
TSR_INLINE float sum(Vec a) { return _mm512_reduce_add_ps(a.v); }
// The value as it is rounded now: no addition may take up the product into a multiply-add.
TSR_INLINE Vec settled(Vec a) {
  asm("" : "+v"(a.v));
  return a;
}
// a / b rounded to nearest out of 1 / b rounded to nearest (Markstein), where nothing leaves the normal numbers and the
// digits of b are not all ones.
TSR_INLINE Vec divided(Vec a, Vec b, Vec reciprocal) {
  const Vec near = a * reciprocal;
  return fma(fnma(near, b, a), reciprocal, near);
}

#elif defined(__AVX2__)

struct Vec {
  static constexpr int kWidth = 8;
  using Mask = __m256;  // all bits of a lane, or none
  __m256 v;

  static TSR_INLINE Mask first(std::ptrdiff_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n > 8 ? 8 : static_cast<int>(n)), lane));
  }
  static TSR_INLINE Vec zero() { return {_mm256_setzero_ps()}; }
  static TSR_INLINE Vec all(float x) { return {_mm256_set1_ps(x)}; }
  static TSR_INLINE Vec load(const float* at) { return {_mm256_loadu_ps(at)}; }
  static TSR_INLINE Vec load(const float* at, Mask m) { return {_mm256_maskload_ps(at, _mm256_castps_si256(m))}; }
  static TSR_INLINE Vec load(const Bf16* at) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))); }
  static TSR_INLINE Vec load(const Bf16* at, Mask m) {
    alignas(16) Bf16 lanes[8] = {};
    const int bits = _mm256_movemask_ps(m);
    for (int i = 0; i < 8; ++i)
      if (bits >> i & 1) lanes[i] = at[i];
    return widen(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes)));
  }
  static TSR_INLINE Vec widen(__m128i half) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16))};
  }
  TSR_INLINE void store(float* at) const { _mm256_storeu_ps(at, v); }
  TSR_INLINE void store(float* at, Mask m) const { _mm256_maskstore_ps(at, _mm256_castps_si256(m), v); }
  TSR_INLINE void store(Bf16* at) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), to_bf16()); }
  TSR_INLINE void store(Bf16* at, Mask m) const {
    alignas(16) Bf16 lanes[8];
    _mm_store_si128(reinterpret_cast<__m128i*>(lanes), to_bf16());
    const int bits = _mm256_movemask_ps(m);
    for (int i = 0; i < 8; ++i)
      if (bits >> i & 1) at[i] = lanes[i];
  }
  // Ties to even; NaN stays NaN.
  TSR_INLINE __m128i to_bf16() const {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i high = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
  }

  friend TSR_INLINE Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
  friend TSR_INLINE Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
  friend TSR_INLINE Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
  friend TSR_INLINE Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
  friend TSR_INLINE Mask operator<(Vec a, Vec b) { return _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ); }
  friend TSR_INLINE Mask operator<=(Vec a, Vec b) { return _mm256_cmp_ps(a.v, b.v, _CMP_LE_OQ); }
  friend TSR_INLINE Mask operator==(Vec a, Vec b) { return _mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ); }
};
TSR_INLINE Vec operator-(Vec a) { return {_mm256_xor_ps(a.v, _mm256_set1_ps(-0.0f))}; }
TSR_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }    // a * b + c
TSR_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }  // c - a * b
TSR_INLINE Vec min_second(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }           // b if either is NaN
TSR_INLINE Vec max_second(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
TSR_INLINE Vec select(Vec::Mask m, Vec yes, Vec no) { return {_mm256_blendv_ps(no.v, yes.v, m)}; }
TSR_INLINE Vec::Mask is_nan(Vec a) { return _mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q); }
TSR_INLINE Vec abs(Vec a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
TSR_INLINE Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.v)}; }
TSR_INLINE Vec round(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec floor(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec ceil(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec trunc(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)}; }
TSR_INLINE Vec power_of_two(__m256i n) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23))};
}
// x * 2^n for a whole n in [-252, 254], in two steps so that subnormal results come out right.
TSR_INLINE Vec scale_by_power_of_two(Vec x, Vec n) {
  const __m256i whole = _mm256_cvtps_epi32(n.v);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  return x * power_of_two(half) * power_of_two(_mm256_sub_epi32(whole, half));
}
// x * 2^n for a whole n in [-126, 127].
TSR_INLINE Vec scale_within_normal(Vec x, Vec n) { return x * power_of_two(_mm256_cvtps_epi32(n.v)); }
TSR_INLINE float sum(Vec a) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
TSR_INLINE Vec settled(Vec a) {
  asm("" : "+x"(a.v));
  return a;
}
TSR_INLINE Vec divided(Vec a, Vec b, Vec reciprocal) {
  const Vec near = a * reciprocal;
  return fma(fnma(near, b, a), reciprocal, near);
}

#else

// Vectors as GCC and Clang know them, for whatever the CPU has at least.
struct Vec {
  static constexpr int kWidth = 4;
  typedef float Lanes __attribute__((vector_size(16)));
  typedef std::int32_t Bits __attribute__((vector_size(16)));
  struct Mask {
    Bits m;  // all bits of a lane, or none
  };
  Lanes v;

  static TSR_INLINE Mask first(std::ptrdiff_t n) {
    const int count = n > 4 ? 4 : static_cast<int>(n);
    return {Bits{0, 1, 2, 3} < Bits{count, count, count, count}};
  }
  static TSR_INLINE Vec zero() { return all(0); }
  static TSR_INLINE Vec all(float x) { return {Lanes{x, x, x, x}}; }
  static TSR_INLINE Vec load(const float* at) {
    Vec out;
    __builtin_memcpy(&out.v, at, sizeof out.v);
    return out;
  }
  static TSR_INLINE Vec load(const float* at, Mask m) {
    Vec out = zero();
    for (int i = 0; i < 4; ++i)
      if (m.m[i]) out.v[i] = at[i];
    return out;
  }
  static TSR_INLINE float widen(Bf16 x) { return __builtin_bit_cast(float, std::uint32_t{x} << 16); }
  static TSR_INLINE Vec load(const Bf16* at) { return {Lanes{widen(at[0]), widen(at[1]), widen(at[2]), widen(at[3])}}; }
  static TSR_INLINE Vec load(const Bf16* at, Mask m) {
    Vec out = zero();
    for (int i = 0; i < 4; ++i)
      if (m.m[i]) out.v[i] = widen(at[i]);
    return out;
  }
  static TSR_INLINE Bf16 narrow(float x) {
    const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
    if (x != x) return static_cast<Bf16>((bits | 0x400000) >> 16);
    return static_cast<Bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  TSR_INLINE void store(float* at) const { __builtin_memcpy(at, &v, sizeof v); }
  TSR_INLINE void store(float* at, Mask m) const {
    for (int i = 0; i < 4; ++i)
      if (m.m[i]) at[i] = v[i];
  }
  TSR_INLINE void store(Bf16* at) const {
    for (int i = 0; i < 4; ++i) at[i] = narrow(v[i]);
  }
  TSR_INLINE void store(Bf16* at, Mask m) const {
    for (int i = 0; i < 4; ++i)
      if (m.m[i]) at[i] = narrow(v[i]);
  }

  friend TSR_INLINE Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
  friend TSR_INLINE Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
  friend TSR_INLINE Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
  friend TSR_INLINE Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
  friend TSR_INLINE Mask operator<(Vec a, Vec b) { return {a.v < b.v}; }
  friend TSR_INLINE Mask operator<=(Vec a, Vec b) { return {a.v <= b.v}; }
  friend TSR_INLINE Mask operator==(Vec a, Vec b) { return {a.v == b.v}; }
};
#define TSR_LANES(expression)                          \
  Vec out;                                             \
  for (int i = 0; i < 4; ++i) out.v[i] = (expression); \
  return out
TSR_INLINE Vec operator-(Vec a) { return {-a.v}; }
TSR_INLINE Vec fma(Vec a, Vec b, Vec c) { return {a.v * b.v + c.v}; }   // a * b + c
TSR_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {c.v - a.v * b.v}; }  // c - a * b
TSR_INLINE Vec select(Vec::Mask m, Vec yes, Vec no) { return {m.m ? yes.v : no.v}; }
TSR_INLINE Vec min_second(Vec a, Vec b) { return select(a < b, a, b); }  // b if either is NaN
TSR_INLINE Vec max_second(Vec a, Vec b) { return select(b < a, a, b); }
TSR_INLINE Vec::Mask is_nan(Vec a) { return {a.v != a.v}; }
TSR_INLINE Vec abs(Vec a) { return {(Vec::Lanes)((Vec::Bits)a.v & 0x7fffffff)}; }
TSR_INLINE Vec sqrt(Vec a) { TSR_LANES(__builtin_sqrtf(a.v[i])); }
// Ties to even, by what an addition cuts off: the C library's function would be a call for each lane.
TSR_INLINE Vec round(Vec a) {
  const Vec magnitude = abs(a), most = Vec::all(8388608.0f);
  const Vec whole = select(magnitude < most, (magnitude + most) - most, magnitude);
  return {(Vec::Lanes)((Vec::Bits)whole.v | ((Vec::Bits)a.v & ~0x7fffffff))};
}
TSR_INLINE Vec floor(Vec a) { TSR_LANES(__builtin_floorf(a.v[i])); }
TSR_INLINE Vec ceil(Vec a) { TSR_LANES(__builtin_ceilf(a.v[i])); }
TSR_INLINE Vec trunc(Vec a) { TSR_LANES(__builtin_truncf(a.v[i])); }
TSR_INLINE Vec power_of_two(Vec::Bits n) { return {(Vec::Lanes)((n + 127) << 23)}; }
// NaN counts as 0.
TSR_INLINE Vec::Bits whole_number(Vec n) {
  return __builtin_convertvector(select(is_nan(n), Vec::zero(), n).v, Vec::Bits);
}
// x * 2^n for a whole n in [-252, 254], in two steps so that subnormal results come out right. NaN may be n where it is
// x.
TSR_INLINE Vec scale_by_power_of_two(Vec x, Vec n) {
  const Vec::Bits whole = whole_number(n), half = whole >> 1;
  return x * power_of_two(half) * power_of_two(whole - half);
}
TSR_INLINE Vec scale_within_normal(Vec x, Vec n) { return x * power_of_two(whole_number(n)); }
#undef TSR_LANES
TSR_INLINE float sum(Vec a) { return (a.v[0] + a.v[1]) + (a.v[2] + a.v[3]); }
TSR_INLINE Vec settled(Vec a) {
  asm("" : "+m"(a.v));
  return a;
}
TSR_INLINE Vec divided(Vec a, Vec b, Vec) { return a / b; }

#endif

// round() of numbers within 2^22, where -0 may come out as 0.
TSR_INLINE Vec round_small(Vec a) {
#if defined(__AVX2__)
  return round(a);
#else
  const Vec cut = Vec::all(12582912.0f);  // 1.5 * 2^23: what an addition of it cuts off
  return (a + cut) - cut;
#endif
}

// Of two numbers; low for NaN.
TSR_INLINE Vec bounded(Vec a, Vec low, Vec high) { return min_second(max_second(a, low), high); }

TSR_INLINE Vec& operator+=(Vec& a, Vec b) { return a = a + b; }

}  // namespace tessera::simd::TSR_ISA
