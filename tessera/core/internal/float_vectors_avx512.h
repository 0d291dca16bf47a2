#pragma once

// float_bits.h for 16 values at a time. Only for files compiled for AVX-512; everything has internal linkage.

#include <immintrin.h>

namespace tessera {
namespace {

inline __m512i words(unsigned value) { return _mm512_set1_epi32(static_cast<int>(value)); }

// Results in the low half of each 32-bit lane.
inline __m512i bfloat16_host(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), words(1));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(u, words(0x7FFF)), odd), 16);
  return _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), words(0x7FC0));
}

inline __m512i bfloat16_packer(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(u, words(0x8000)), 16);
  const __m512i normal = _mm512_mask_and_epi32(rounded, _mm512_testn_epi32_mask(u, words(0x7F800000)),
                                               _mm512_srli_epi32(u, 16), words(0x8000));
  return _mm512_mask_mov_epi32(normal, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), words(0x7FC0));
}

inline __m256i float16(__m512 x) { return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

inline __m512 from_bfloat16(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

inline __m512 from_float16(__m256i bits) { return _mm512_cvtph_ps(bits); }

}  // namespace
}  // namespace tessera
