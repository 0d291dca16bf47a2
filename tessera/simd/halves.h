#pragma once

// 16-bit floats. Halves is a register of 16 of them, and the functions beside it are those of core/float_bits.h, bit
// for bit: for AVX2 and above, which have instructions for float16.

#include "tessera/simd/ints.h"
#include "tessera/simd/parts.h"

namespace tessera::simd::TSR_ISA {

#if defined(__AVX2__)

constexpr int kHalves = 16;                          // in a register of them
constexpr int kHalvesParts = kHalves / Vec::kWidth;  // vectors that hold as many floats

struct Halves {
  __m256i v;
  static TSR_INLINE Halves load(const void* at) { return {_mm256_loadu_si256(static_cast<const __m256i*>(at))}; }
  TSR_INLINE void store(void* at) const { _mm256_storeu_si256(static_cast<__m256i*>(at), v); }
  TSR_INLINE void stream(void* at) const { _mm256_stream_si256(static_cast<__m256i*>(at), v); }  // past the caches
};

// To bfloat16, in the low half of each lane. Host: ties to even, every NaN becomes 0x7FC0.
TSR_INLINE Ints bfloat16_host(Vec x) {
  const Ints u = bits(x);
  const Ints rounded = (u + words(0x7FFF) + ((u >> 16) & words(1))) >> 16;
  return select(is_nan(x), words(0x7FC0), rounded);
}
// Packer: ties away from zero, denormals become zeros of their sign. As float32, and as bfloat16.
TSR_INLINE Vec rounded_by_packer(Vec x) {
  const Ints u = bits(x);
  // A denormal can be rounded up to the least normal, whose sign is the same.
  const Ints kept = select(has_bits(u, words(0x7F80'0000)), words(0xFFFF'0000), words(0x8000'0000));
  return select(is_nan(x), float_of_bits(words(0x7FC0'0000)), float_of_bits((u + words(0x8000)) & kept));
}
TSR_INLINE Ints bfloat16_packer(Vec x) { return bits(rounded_by_packer(x)) >> 16; }

#if defined(TSR_AVX512)

// The low halves of the lanes.
TSR_INLINE Halves halves(const Ints (&x)[kHalvesParts]) { return {_mm512_cvtepi32_epi16(x[0].v)}; }
TSR_INLINE Halves float16(const Vec (&x)[kHalvesParts]) {
  return {_mm512_cvtps_ph(x[0].v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
TSR_INLINE Vec load_float16(const void* at) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(at)))};
}

#else

// All of them less than 2^16.
TSR_INLINE Halves halves(const Ints (&x)[kHalvesParts]) {
  return {_mm256_permute4x64_epi64(_mm256_packus_epi32(x[0].v, x[1].v), 0xD8)};
}
TSR_INLINE Halves float16(const Vec (&x)[kHalvesParts]) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_set_m128i(_mm256_cvtps_ph(x[1].v, kNearest), _mm256_cvtps_ph(x[0].v, kNearest))};
}
TSR_INLINE Vec load_float16(const void* at) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(at)))};
}

#endif
#endif

// The nearest number that bfloat16 has, ties to even; NaN stays as it is.
TSR_INLINE Vec rounded_to_bfloat16(Vec x) {
  const Ints u = bits(x);
  const Ints rounded = (u + words(0x7FFF) + ((u >> 16) & words(1))) & words(0xFFFF'0000);
  return select(is_nan(x), x, float_of_bits(rounded));
}

// The nearest number that float16 has, ties to even; NaN stays NaN.
TSR_INLINE Vec rounded_to_float16(Vec x) {
#if defined(TSR_AVX512)
  return {_mm512_cvtph_ps(_mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
#elif defined(__AVX2__)
  return {_mm256_cvtph_ps(_mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))};
#else
  const Ints u = bits(x);
  const Ints rounded = (u + words(0xFFF) + ((u >> 13) & words(1))) & words(0xFFFF'E000);
  const Vec normal = select(is_nan(x), x, float_of_bits(rounded)), size = abs(x);
  const Vec small = copy_sign((size + Vec::all(0.5f)) - Vec::all(0.5f), x);  // to multiples of 2^-24
  const Vec finite = select(size < Vec::all(0x1p-14f), small, normal);
  return select(Vec::all(65520.0f) <= size, copy_sign(Vec::all(__builtin_inff()), x), finite);
#endif
}

}  // namespace tessera::simd::TSR_ISA
