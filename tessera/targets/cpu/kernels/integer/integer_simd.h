#pragma once

// Vectors of int32 for the instruction set that the including file is compiled for, and what quantised kernels do with
// them, in cpu::TSR_INTEGER_ISA. What simd.h says of such files holds here too.

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512VNNI__)
#define TSR_INTEGER_ISA avx512_vnni
#elif defined(__AVX512F__)
#define TSR_INTEGER_ISA avx512
#elif defined(__AVX2__)
#define TSR_INTEGER_ISA avx2
#else
#define TSR_INTEGER_ISA portable
#endif

#ifndef TSR_INLINE
#define TSR_INLINE inline __attribute__((always_inline))
#endif

namespace tessera::cpu::TSR_INTEGER_ISA {

// A product of groups: dot(sums, x, w) adds, to each int32, the products of the elements of its 4 bytes of x and of w.
// With VNNI those are four of uint8 and int8, otherwise two of int16: both are exact.
#if defined(__AVX512VNNI__)
constexpr int kGroup = 4;
#else
constexpr int kGroup = 2;
#endif

#if defined(__AVX512F__)

struct Reals {
  __m512 v;
  static TSR_INLINE Reals all(float x) { return {_mm512_set1_ps(x)}; }
  static TSR_INLINE Reals load(const float* at) { return {_mm512_loadu_ps(at)}; }
};
struct Ints {
  static constexpr int kWidth = 16;
  __m512i v;
  static TSR_INLINE Ints all(std::int32_t x) { return {_mm512_set1_epi32(x)}; }
  static TSR_INLINE Ints load(const void* at) { return {_mm512_loadu_si512(at)}; }
  TSR_INLINE void store(std::int32_t* at) const { _mm512_storeu_si512(at, v); }
  TSR_INLINE void store(std::int32_t* at, int n) const {
    _mm512_mask_storeu_epi32(at, static_cast<__mmask16>((1u << n) - 1), v);
  }
  // The low byte of each lane.
  TSR_INLINE void store_bytes(std::byte* at) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtepi32_epi8(v));
  }
  TSR_INLINE void store_bytes(std::byte* at, int n) const {
    _mm_mask_storeu_epi8(at, static_cast<__mmask16>((1u << n) - 1), _mm512_cvtepi32_epi8(v));
  }
  template <bool kSign>
  static TSR_INLINE Ints widened(__m128i bytes) {
    return {kSign ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes)};
  }
  template <bool kSign>
  static TSR_INLINE Ints load_bytes(const std::byte* at) {
    return widened<kSign>(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  template <bool kSign>
  static TSR_INLINE Ints load_bytes(const std::byte* at, int n) {
    return widened<kSign>(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1), at));
  }
};
TSR_INLINE Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
TSR_INLINE Ints operator^(Ints a, Ints b) { return {_mm512_xor_si512(a.v, b.v)}; }
TSR_INLINE Reals reals(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
TSR_INLINE Ints rounded(Reals a) { return {_mm512_cvtps_epi32(a.v)}; }  // ties to even
TSR_INLINE Reals operator*(Reals a, Reals b) { return {_mm512_mul_ps(a.v, b.v)}; }
TSR_INLINE Reals operator+(Reals a, Reals b) { return {_mm512_add_ps(a.v, b.v)}; }
TSR_INLINE Reals operator/(Reals a, Reals b) { return {_mm512_div_ps(a.v, b.v)}; }
// A product that no addition may take up into a multiply-add.
TSR_INLINE Reals settled(Reals a) {
  asm("" : "+v"(a.v));
  return a;
}
// a / b rounded to nearest out of 1 / b rounded to nearest (Markstein), where nothing leaves the normal numbers and the
// digits of b are not all ones.
TSR_INLINE Reals divided(Reals a, Reals b, Reals reciprocal) {
  const __m512 near = _mm512_mul_ps(a.v, reciprocal.v), rest = _mm512_fnmadd_ps(near, b.v, a.v);
  return {_mm512_fmadd_ps(rest, reciprocal.v, near)};
}
TSR_INLINE Reals bounded(Reals a, Reals low, Reals high) {  // low for NaN
  return {_mm512_min_ps(_mm512_max_ps(a.v, low.v), high.v)};
}
TSR_INLINE Ints dot(Ints sums, Ints x, Ints w) {
#if defined(__AVX512VNNI__)
  return {_mm512_dpbusd_epi32(sums.v, x.v, w.v)};
#else
  return {_mm512_add_epi32(sums.v, _mm512_madd_epi16(x.v, w.v))};
#endif
}
// Low halves of `low` beside those of `high`.
TSR_INLINE Ints pairs(Ints low, Ints high) {
  return {_mm512_mask_blend_epi16(0xaaaaaaaau, low.v, _mm512_slli_epi32(high.v, 16))};
}

#elif defined(__AVX2__)

struct Reals {
  __m256 v;
  static TSR_INLINE Reals all(float x) { return {_mm256_set1_ps(x)}; }
  static TSR_INLINE Reals load(const float* at) { return {_mm256_loadu_ps(at)}; }
};
struct Ints {
  static constexpr int kWidth = 8;
  __m256i v;
  static TSR_INLINE Ints all(std::int32_t x) { return {_mm256_set1_epi32(x)}; }
  static TSR_INLINE Ints load(const void* at) { return {_mm256_loadu_si256(static_cast<const __m256i*>(at))}; }
  TSR_INLINE void store(std::int32_t* at) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), v); }
  TSR_INLINE void store(std::int32_t* at, int n) const {
    std::int32_t all_of_them[kWidth];
    store(all_of_them);
    __builtin_memcpy(at, all_of_them, static_cast<std::size_t>(n) * sizeof(std::int32_t));
  }
  TSR_INLINE std::int64_t low_bytes() const {
    const __m256i bytes = _mm256_and_si256(v, _mm256_set1_epi32(0xff));
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    return _mm_cvtsi128_si64(_mm_packus_epi16(words, words));
  }
  TSR_INLINE void store_bytes(std::byte* at) const {
    const std::int64_t bytes = low_bytes();
    __builtin_memcpy(at, &bytes, sizeof bytes);
  }
  TSR_INLINE void store_bytes(std::byte* at, int n) const {
    const std::int64_t bytes = low_bytes();
    __builtin_memcpy(at, &bytes, static_cast<std::size_t>(n));
  }
  template <bool kSign>
  static TSR_INLINE Ints load_bytes(const std::byte* at) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    return {kSign ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes)};
  }
  template <bool kSign>
  static TSR_INLINE Ints load_bytes(const std::byte* at, int n) {
    std::byte all_of_them[kWidth] = {};
    __builtin_memcpy(all_of_them, at, static_cast<std::size_t>(n));
    return load_bytes<kSign>(all_of_them);
  }
};
TSR_INLINE Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.v, b.v)}; }
TSR_INLINE Ints operator^(Ints a, Ints b) { return {_mm256_xor_si256(a.v, b.v)}; }
TSR_INLINE Reals reals(Ints a) { return {_mm256_cvtepi32_ps(a.v)}; }
TSR_INLINE Ints rounded(Reals a) { return {_mm256_cvtps_epi32(a.v)}; }
TSR_INLINE Reals operator*(Reals a, Reals b) { return {_mm256_mul_ps(a.v, b.v)}; }
TSR_INLINE Reals operator+(Reals a, Reals b) { return {_mm256_add_ps(a.v, b.v)}; }
TSR_INLINE Reals operator/(Reals a, Reals b) { return {_mm256_div_ps(a.v, b.v)}; }
TSR_INLINE Reals settled(Reals a) {
  asm("" : "+x"(a.v));
  return a;
}
TSR_INLINE Reals divided(Reals a, Reals b, Reals reciprocal) {
  const __m256 near = _mm256_mul_ps(a.v, reciprocal.v), rest = _mm256_fnmadd_ps(near, b.v, a.v);
  return {_mm256_fmadd_ps(rest, reciprocal.v, near)};
}
TSR_INLINE Reals bounded(Reals a, Reals low, Reals high) { return {_mm256_min_ps(_mm256_max_ps(a.v, low.v), high.v)}; }
TSR_INLINE Ints dot(Ints sums, Ints x, Ints w) { return {_mm256_add_epi32(sums.v, _mm256_madd_epi16(x.v, w.v))}; }
TSR_INLINE Ints pairs(Ints low, Ints high) { return {_mm256_blend_epi16(low.v, _mm256_slli_epi32(high.v, 16), 0xaa)}; }

#else

struct Reals {
  float v[4];
  static TSR_INLINE Reals all(float x) { return {{x, x, x, x}}; }
  static TSR_INLINE Reals load(const float* at) { return {{at[0], at[1], at[2], at[3]}}; }
};
struct Ints {
  static constexpr int kWidth = 4;
  std::int32_t v[4];
  static TSR_INLINE Ints all(std::int32_t x) { return {{x, x, x, x}}; }
  static TSR_INLINE Ints load(const void* at) {
    Ints out;
    __builtin_memcpy(out.v, at, sizeof out.v);
    return out;
  }
  TSR_INLINE void store(std::int32_t* at) const { __builtin_memcpy(at, v, sizeof v); }
  TSR_INLINE void store(std::int32_t* at, int n) const {
    for (int i = 0; i < n; ++i) at[i] = v[i];
  }
  TSR_INLINE void store_bytes(std::byte* at, int n = kWidth) const {
    for (int i = 0; i < n; ++i) at[i] = static_cast<std::byte>(v[i]);
  }
  template <bool kSign>
  static TSR_INLINE Ints load_bytes(const std::byte* at, int n = kWidth) {
    Ints out = all(0);
    for (int i = 0; i < n; ++i) out.v[i] = kSign ? static_cast<std::int8_t>(at[i]) : static_cast<std::int32_t>(at[i]);
    return out;
  }
};
#define TSR_LANES(Type, expression)                             \
  Type out;                                                     \
  for (int i = 0; i < Ints::kWidth; ++i) out.v[i] = expression; \
  return out
TSR_INLINE std::int32_t wrapped(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
TSR_INLINE Ints operator+(Ints a, Ints b) { TSR_LANES(Ints, wrapped(a.v[i], b.v[i])); }
TSR_INLINE Ints operator^(Ints a, Ints b) { TSR_LANES(Ints, a.v[i] ^ b.v[i]); }
TSR_INLINE Reals reals(Ints a) { TSR_LANES(Reals, static_cast<float>(a.v[i])); }
// Of numbers within 2^22: what an addition cuts off.
TSR_INLINE std::int32_t rounded(float a) {
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23
  return static_cast<std::int32_t>((a + kWhole) - kWhole);
}
TSR_INLINE Ints rounded(Reals a) { TSR_LANES(Ints, rounded(a.v[i])); }
TSR_INLINE Reals operator*(Reals a, Reals b) { TSR_LANES(Reals, a.v[i] * b.v[i]); }
TSR_INLINE Reals operator+(Reals a, Reals b) { TSR_LANES(Reals, a.v[i] + b.v[i]); }
TSR_INLINE Reals operator/(Reals a, Reals b) { TSR_LANES(Reals, a.v[i] / b.v[i]); }
TSR_INLINE float settled(float a) {
  asm("" : "+m"(a));
  return a;
}
TSR_INLINE Reals settled(Reals a) { TSR_LANES(Reals, settled(a.v[i])); }
TSR_INLINE Reals divided(Reals a, Reals b, Reals) { return a / b; }
TSR_INLINE float bounded(float a, float low, float high) {
  const float least = a > low ? a : low;
  return least < high ? least : high;
}
TSR_INLINE Reals bounded(Reals a, Reals low, Reals high) { TSR_LANES(Reals, bounded(a.v[i], low.v[i], high.v[i])); }
TSR_INLINE std::int32_t half(std::int32_t pair, bool high) {
  return static_cast<std::int16_t>(static_cast<std::uint32_t>(pair) >> (high ? 16 : 0));
}
TSR_INLINE Ints dot(Ints sums, Ints x, Ints w) {
  TSR_LANES(Ints,
            wrapped(sums.v[i], half(x.v[i], false) * half(w.v[i], false) + half(x.v[i], true) * half(w.v[i], true)));
}
TSR_INLINE Ints pairs(Ints low, Ints high) {
  TSR_LANES(Ints, static_cast<std::int32_t>((static_cast<std::uint32_t>(low.v[i]) & 0xffffu) |
                                            static_cast<std::uint32_t>(high.v[i]) << 16));
}
#undef TSR_LANES

#endif

// The same 4 bytes in every lane.
TSR_INLINE Ints group_at(const std::byte* at) {
  std::int32_t bits;
  __builtin_memcpy(&bits, at, sizeof bits);
  return Ints::all(bits);
}

}  // namespace tessera::cpu::TSR_INTEGER_ISA
