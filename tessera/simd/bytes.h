#pragma once

// Bytes: a register of bytes, and the ways between it and Ints. What is said of names in vec.h holds here too.

#include "tessera/simd/ints.h"

#include <cstddef>
#include <cstdint>

namespace tessera::simd::TSR_ISA {

#if defined(TSR_AVX512)

struct Bytes {
  static constexpr std::int64_t kWidth = 64;
  __m512i v;
  static TSR_INLINE __mmask64 first(std::int64_t n) { return n >= kWidth ? ~__mmask64{0} : (__mmask64{1} << n) - 1; }
  static TSR_INLINE Bytes all(char x) { return {_mm512_set1_epi8(x)}; }
  static TSR_INLINE Bytes load(const void* at) { return {_mm512_loadu_si512(at)}; }
  static TSR_INLINE Bytes load(const std::byte* at, std::int64_t n) { return {_mm512_maskz_loadu_epi8(first(n), at)}; }
  TSR_INLINE void store(void* at) const { _mm512_storeu_si512(at, v); }
  TSR_INLINE void store(std::byte* at, std::int64_t n) const { _mm512_mask_storeu_epi8(at, first(n), v); }
  TSR_INLINE void stream(void* at) const { _mm512_stream_si512(static_cast<__m512i*>(at), v); }  // past the caches
};
TSR_INLINE Bytes operator&(Bytes a, Bytes b) { return {_mm512_and_si512(a.v, b.v)}; }
TSR_INLINE Bytes operator|(Bytes a, Bytes b) { return {_mm512_or_si512(a.v, b.v)}; }
template <bool kSign>
TSR_INLINE Bytes larger(Bytes a, Bytes b) {
  return {kSign ? _mm512_max_epi8(a.v, b.v) : _mm512_max_epu8(a.v, b.v)};
}
TSR_INLINE Bytes smaller_signed(Bytes a, Bytes b) { return {_mm512_min_epi8(a.v, b.v)}; }
TSR_INLINE Bytes abs(Bytes a) { return {_mm512_abs_epi8(a.v)}; }
// Every pair of bytes moves as one number.
TSR_INLINE Bytes shift_pairs_right(Bytes a, int n) { return {_mm512_srli_epi16(a.v, static_cast<unsigned>(n))}; }
TSR_INLINE Bytes keep_where_nonzero(Bytes where, Bytes a) {
  return {_mm512_maskz_mov_epi8(_mm512_test_epi8_mask(where.v, where.v), a.v)};
}
// Lanes of a, b, c and d one after the other, saturated to int8.
TSR_INLINE Bytes saturated(Ints a, Ints b, Ints c, Ints d) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i packed = _mm512_packs_epi16(_mm512_packs_epi32(a.v, b.v), _mm512_packs_epi32(c.v, d.v));
  return {_mm512_permutexvar_epi32(order, packed)};
}
// a followed by b, even bytes in the low halves of bytes, odd ones above them; all of them less than 16.
TSR_INLINE Bytes nibbles(Bytes a, Bytes b) {
  const __m512i even_odd = _mm512_set1_epi16(0x1001), order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const __m512i packed = _mm512_packus_epi16(_mm512_maddubs_epi16(a.v, even_odd), _mm512_maddubs_epi16(b.v, even_odd));
  return {_mm512_permutexvar_epi64(order, packed)};
}
TSR_INLINE Bytes bytes(Ints a) { return {a.v}; }

#elif defined(__AVX2__)

struct Bytes {
  static constexpr std::int64_t kWidth = 32;
  __m256i v;
  static TSR_INLINE Bytes all(char x) { return {_mm256_set1_epi8(x)}; }
  static TSR_INLINE Bytes load(const void* at) { return {_mm256_loadu_si256(static_cast<const __m256i*>(at))}; }
  static TSR_INLINE Bytes load(const std::byte* at, std::int64_t n) {
    if (n >= kWidth) return load(at);
    std::byte part[kWidth] = {};
    __builtin_memcpy(part, at, static_cast<std::size_t>(n));
    return load(part);
  }
  TSR_INLINE void store(void* at) const { _mm256_storeu_si256(static_cast<__m256i*>(at), v); }
  TSR_INLINE void store(std::byte* at, std::int64_t n) const {
    if (n >= kWidth) return store(at);
    std::byte part[kWidth];
    store(part);
    __builtin_memcpy(at, part, static_cast<std::size_t>(n));
  }
  TSR_INLINE void stream(void* at) const { _mm256_stream_si256(static_cast<__m256i*>(at), v); }
};
TSR_INLINE Bytes operator&(Bytes a, Bytes b) { return {_mm256_and_si256(a.v, b.v)}; }
TSR_INLINE Bytes operator|(Bytes a, Bytes b) { return {_mm256_or_si256(a.v, b.v)}; }
template <bool kSign>
TSR_INLINE Bytes larger(Bytes a, Bytes b) {
  return {kSign ? _mm256_max_epi8(a.v, b.v) : _mm256_max_epu8(a.v, b.v)};
}
TSR_INLINE Bytes smaller_signed(Bytes a, Bytes b) { return {_mm256_min_epi8(a.v, b.v)}; }
TSR_INLINE Bytes abs(Bytes a) { return {_mm256_abs_epi8(a.v)}; }
TSR_INLINE Bytes shift_pairs_right(Bytes a, int n) { return {_mm256_srli_epi16(a.v, n)}; }
TSR_INLINE Bytes keep_where_nonzero(Bytes where, Bytes a) {
  return {_mm256_andnot_si256(_mm256_cmpeq_epi8(where.v, _mm256_setzero_si256()), a.v)};
}
TSR_INLINE Bytes saturated(Ints a, Ints b, Ints c, Ints d) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(a.v, b.v), _mm256_packs_epi32(c.v, d.v));
  return {_mm256_permutevar8x32_epi32(packed, order)};
}
TSR_INLINE Bytes nibbles(Bytes a, Bytes b) {
  const __m256i even_odd = _mm256_set1_epi16(0x1001);
  const __m256i packed = _mm256_packus_epi16(_mm256_maddubs_epi16(a.v, even_odd), _mm256_maddubs_epi16(b.v, even_odd));
  return {_mm256_permute4x64_epi64(packed, 0xD8)};
}
TSR_INLINE Bytes bytes(Ints a) { return {a.v}; }

#else

struct Bytes {
  static constexpr std::int64_t kWidth = 16;
  std::byte v[kWidth];
  static TSR_INLINE Bytes all(char x) {
    Bytes out;
    for (std::byte& b : out.v) b = static_cast<std::byte>(x);
    return out;
  }
  static TSR_INLINE Bytes load(const std::byte* at, std::int64_t n) {
    Bytes out = all(0);
    for (std::int64_t i = 0; i < (n < kWidth ? n : kWidth); ++i) out.v[i] = at[i];
    return out;
  }
  TSR_INLINE void store(std::byte* at, std::int64_t n) const {
    for (std::int64_t i = 0; i < (n < kWidth ? n : kWidth); ++i) at[i] = v[i];
  }
};
template <bool kSign>
TSR_INLINE Bytes larger(Bytes a, Bytes b) {
  for (int i = 0; i < Bytes::kWidth; ++i) {
    const bool less = kSign ? static_cast<std::int8_t>(a.v[i]) < static_cast<std::int8_t>(b.v[i]) : a.v[i] < b.v[i];
    if (less) a.v[i] = b.v[i];
  }
  return a;
}

#endif

}  // namespace tessera::simd::TSR_ISA
