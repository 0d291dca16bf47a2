#pragma once

// Ints: vectors of int32, as many lanes as Vec has. Sums wrap around. What is said of names in vec.h holds here too.

#include "tessera/simd/vec.h"

#include <cstddef>
#include <cstdint>

namespace tessera::simd::TSR_ISA {

// A product of groups: dot(sums, x, w) adds, to each int32, the products of the elements of its 4 bytes of x and of w.
// With VNNI those are four of uint8 and int8, otherwise two of int16: both are exact.
#if defined(__AVX512VNNI__)
constexpr int kGroup = 4;
#else
constexpr int kGroup = 2;
#endif

#if defined(TSR_AVX512)

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
  // Codes of 4 bits in the lowest bits of the lanes; what is above them is anything.
  static TSR_INLINE Ints load_nibbles(const std::byte* at) {
    const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i codes = _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
    return {_mm512_srlv_epi32(_mm512_permutexvar_epi32(halves, codes), shifts)};
  }
};
TSR_INLINE Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
TSR_INLINE Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
TSR_INLINE Ints operator^(Ints a, Ints b) { return {_mm512_xor_si512(a.v, b.v)}; }
TSR_INLINE Ints operator&(Ints a, Ints b) { return {_mm512_and_si512(a.v, b.v)}; }
TSR_INLINE Ints operator|(Ints a, Ints b) { return {_mm512_or_si512(a.v, b.v)}; }
TSR_INLINE Ints operator<<(Ints a, int n) { return {_mm512_slli_epi32(a.v, static_cast<unsigned>(n))}; }
TSR_INLINE Ints operator>>(Ints a, int n) {
  return {_mm512_srli_epi32(a.v, static_cast<unsigned>(n))};
}  // zeros move in
TSR_INLINE Ints operator>>(Ints a, Ints n) {
  return {_mm512_srlv_epi32(a.v, n.v)};
}  // by each lane's own; 0 from 32 on
TSR_INLINE Ints min_unsigned(Ints a, Ints b) { return {_mm512_min_epu32(a.v, b.v)}; }
TSR_INLINE Vec::Mask nonzero(Ints a) { return _mm512_test_epi32_mask(a.v, a.v); }
TSR_INLINE Vec::Mask has_bits(Ints a, Ints b) { return _mm512_test_epi32_mask(a.v, b.v); }  // any of b
TSR_INLINE Vec::Mask not_negative(Ints a) { return _mm512_cmp_epi32_mask(a.v, _mm512_setzero_si512(), _MM_CMPINT_NLT); }
TSR_INLINE Ints keep(Vec::Mask m, Ints a) { return {_mm512_maskz_mov_epi32(m, a.v)}; }  // 0 elsewhere
TSR_INLINE Ints select(Vec::Mask m, Ints yes, Ints no) { return {_mm512_mask_mov_epi32(no.v, m, yes.v)}; }
TSR_INLINE bool any(Ints a) { return _mm512_test_epi32_mask(a.v, a.v) != 0; }
TSR_INLINE Vec pick(Vec table, Ints index) { return {_mm512_permutexvar_ps(index.v, table.v)}; }  // modulo the width
TSR_INLINE Ints bits(Vec a) { return {_mm512_castps_si512(a.v)}; }
TSR_INLINE Vec float_of_bits(Ints a) { return {_mm512_castsi512_ps(a.v)}; }
TSR_INLINE Vec to_float(Ints a) { return {_mm512_cvtepi32_ps(a.v)}; }
TSR_INLINE Ints to_int(Vec a) { return {_mm512_cvtps_epi32(a.v)}; }  // ties to even; portable: within 2^22
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
  static TSR_INLINE Ints load_nibbles(const std::byte* at) {
    std::int32_t eight;
    __builtin_memcpy(&eight, at, sizeof eight);
    return {_mm256_srlv_epi32(_mm256_set1_epi32(eight), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28))};
  }
};
TSR_INLINE Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.v, b.v)}; }
TSR_INLINE Ints operator-(Ints a, Ints b) { return {_mm256_sub_epi32(a.v, b.v)}; }
TSR_INLINE Ints operator^(Ints a, Ints b) { return {_mm256_xor_si256(a.v, b.v)}; }
TSR_INLINE Ints operator&(Ints a, Ints b) { return {_mm256_and_si256(a.v, b.v)}; }
TSR_INLINE Ints operator|(Ints a, Ints b) { return {_mm256_or_si256(a.v, b.v)}; }
TSR_INLINE Ints operator<<(Ints a, int n) { return {_mm256_slli_epi32(a.v, n)}; }
TSR_INLINE Ints operator>>(Ints a, int n) { return {_mm256_srli_epi32(a.v, n)}; }
TSR_INLINE Ints operator>>(Ints a, Ints n) { return {_mm256_srlv_epi32(a.v, n.v)}; }
TSR_INLINE Ints min_unsigned(Ints a, Ints b) { return {_mm256_min_epu32(a.v, b.v)}; }
TSR_INLINE Vec::Mask nonzero(Ints a) {
  const __m256i zero = _mm256_cmpeq_epi32(a.v, _mm256_setzero_si256());
  return _mm256_castsi256_ps(_mm256_xor_si256(zero, _mm256_set1_epi32(-1)));
}
TSR_INLINE Vec::Mask has_bits(Ints a, Ints b) { return nonzero({_mm256_and_si256(a.v, b.v)}); }
TSR_INLINE Vec::Mask not_negative(Ints a) {
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a.v, _mm256_set1_epi32(-1)));
}
TSR_INLINE Ints keep(Vec::Mask m, Ints a) { return {_mm256_and_si256(_mm256_castps_si256(m), a.v)}; }
TSR_INLINE Ints select(Vec::Mask m, Ints yes, Ints no) {
  return {_mm256_blendv_epi8(no.v, yes.v, _mm256_castps_si256(m))};
}
TSR_INLINE bool any(Ints a) { return !_mm256_testz_si256(a.v, a.v); }
TSR_INLINE Vec pick(Vec table, Ints index) { return {_mm256_permutevar8x32_ps(table.v, index.v)}; }
TSR_INLINE Ints bits(Vec a) { return {_mm256_castps_si256(a.v)}; }
TSR_INLINE Vec float_of_bits(Ints a) { return {_mm256_castsi256_ps(a.v)}; }
TSR_INLINE Vec to_float(Ints a) { return {_mm256_cvtepi32_ps(a.v)}; }
TSR_INLINE Ints to_int(Vec a) { return {_mm256_cvtps_epi32(a.v)}; }
TSR_INLINE Ints dot(Ints sums, Ints x, Ints w) { return {_mm256_add_epi32(sums.v, _mm256_madd_epi16(x.v, w.v))}; }
TSR_INLINE Ints pairs(Ints low, Ints high) { return {_mm256_blend_epi16(low.v, _mm256_slli_epi32(high.v, 16), 0xaa)}; }

#else

// Plain arrays: compilers turn loops over them into what the CPU has (sums of products of pairs among it).
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
TSR_INLINE std::uint32_t word(std::int32_t a) { return static_cast<std::uint32_t>(a); }
TSR_INLINE std::int32_t number(std::uint32_t a) { return static_cast<std::int32_t>(a); }
TSR_INLINE Ints operator+(Ints a, Ints b) { TSR_LANES(Ints, number(word(a.v[i]) + word(b.v[i]))); }
TSR_INLINE Ints operator-(Ints a, Ints b) { TSR_LANES(Ints, number(word(a.v[i]) - word(b.v[i]))); }
TSR_INLINE Ints operator^(Ints a, Ints b) { TSR_LANES(Ints, a.v[i] ^ b.v[i]); }
TSR_INLINE Ints operator&(Ints a, Ints b) { TSR_LANES(Ints, a.v[i] & b.v[i]); }
TSR_INLINE Ints operator|(Ints a, Ints b) { TSR_LANES(Ints, a.v[i] | b.v[i]); }
TSR_INLINE Ints operator<<(Ints a, int n) { TSR_LANES(Ints, number(word(a.v[i]) << n)); }
TSR_INLINE Ints operator>>(Ints a, int n) { TSR_LANES(Ints, number(word(a.v[i]) >> n)); }
TSR_INLINE Ints bits(Vec a) { return __builtin_bit_cast(Ints, a.v); }
TSR_INLINE Vec float_of_bits(Ints a) { return {__builtin_bit_cast(Vec::Lanes, a)}; }
TSR_INLINE Vec to_float(Ints a) { TSR_LANES(Vec, static_cast<float>(a.v[i])); }
// What an addition cuts off.
TSR_INLINE std::int32_t to_int(float a) {
  constexpr float kWhole = 12582912.0f;  // 1.5 * 2^23
  return static_cast<std::int32_t>((a + kWhole) - kWhole);
}
TSR_INLINE Ints to_int(Vec a) { TSR_LANES(Ints, to_int(a.v[i])); }
TSR_INLINE std::int32_t half(std::int32_t pair, bool high) {
  return static_cast<std::int16_t>(word(pair) >> (high ? 16 : 0));
}
TSR_INLINE Ints dot(Ints sums, Ints x, Ints w) {
  TSR_LANES(Ints, number(word(sums.v[i]) +
                         word(half(x.v[i], false) * half(w.v[i], false) + half(x.v[i], true) * half(w.v[i], true))));
}
TSR_INLINE Ints pairs(Ints low, Ints high) { return (low & Ints::all(0xffff)) | (high << 16); }
#undef TSR_LANES

#endif

// The same 4 bytes in every lane.
TSR_INLINE Ints group_at(const std::byte* at) {
  std::int32_t bits;
  __builtin_memcpy(&bits, at, sizeof bits);
  return Ints::all(bits);
}

// Hexadecimal constants beyond int32.
TSR_INLINE Ints words(std::uint32_t x) { return Ints::all(static_cast<std::int32_t>(x)); }

}  // namespace tessera::simd::TSR_ISA
