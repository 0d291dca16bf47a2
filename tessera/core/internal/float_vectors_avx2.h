#pragma once

// float_bits.h for 8 values at a time. Only for files compiled for AVX2; everything has internal linkage.

#include <immintrin.h>

namespace tessera {
namespace {

inline __m256i words(unsigned value) { return _mm256_set1_epi32(static_cast<int>(value)); }

inline __m256i select(__m256i mask, __m256i yes, __m256i no) { return _mm256_blendv_epi8(no, yes, mask); }

inline __m256i is_nan(__m256 x) { return _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)); }

// Results in the low half of each 32-bit lane.
inline __m256i bfloat16_host(__m256 x) {
  const __m256i u = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), words(1));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(u, words(0x7FFF)), odd), 16);
  return select(is_nan(x), words(0x7FC0), rounded);
}

inline __m256i bfloat16_packer(__m256 x) {
  const __m256i u = _mm256_castps_si256(x);
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(u, words(0x8000)), 16);
  const __m256i tiny = _mm256_cmpeq_epi32(_mm256_and_si256(u, words(0x7F800000)), _mm256_setzero_si256());
  const __m256i normal = _mm256_and_si256(rounded, select(tiny, words(0x8000), words(0xFFFF)));
  // A denormal can be rounded up to the least normal, whose sign is the same.
  return select(is_nan(x), words(0x7FC0), normal);
}

// 16 results from two halves of a block.
inline __m256i join(__m256i low, __m256i high) {
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8);
}

inline __m128i float16(__m256 x) { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

inline __m256 from_bfloat16(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

inline __m256 from_float16(__m128i bits) { return _mm256_cvtph_ps(bits); }

}  // namespace
}  // namespace tessera
