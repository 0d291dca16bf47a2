// Plain loops over blocks: compilers make three instructions for a vector of them (widen, convert, multiply).

#include "tessera/targets/cpu/kernels/dense/dense_expand.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

TSR_INLINE float block_scale(std::byte exponent, int shift) {
  return __builtin_bit_cast(float, (static_cast<std::uint32_t>(exponent) - static_cast<std::uint32_t>(shift)) << 23);
}

template <int Width>
TSR_INLINE void expand_bfp8(const std::byte* __restrict codes, float scale, float* __restrict to) {
  for (int i = 0; i < Width; ++i) to[i] = static_cast<float>(static_cast<std::int8_t>(codes[i])) * scale;
}

template <int Width>
TSR_INLINE void expand_bfp4(const std::byte* __restrict codes, float scale, float* __restrict to) {
  for (int i = 0; i < Width / 2; ++i) {
    const int both = static_cast<int>(codes[i]);
    to[i] = static_cast<float>(((both & 15) ^ 8) - 8) * scale;
    to[i + Width / 2] = static_cast<float>(((both >> 4) ^ 8) - 8) * scale;
  }
}

#if defined(__AVX512F__)

template <>
TSR_INLINE void expand_bfp8<16>(const std::byte* __restrict codes, float scale, float* __restrict to) {
  const __m512i c = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtepi32_ps(c), _mm512_set1_ps(scale)));
}

template <>
TSR_INLINE void expand_bfp4<16>(const std::byte* __restrict codes, float scale, float* __restrict to) {
  const __m128i both = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)), low = _mm_set1_epi8(15);
  const __m128i nibbles = _mm_unpacklo_epi64(_mm_and_si128(both, low), _mm_and_si128(_mm_srli_epi16(both, 4), low));
  // Sixteen values, looked up.
  const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
  const __m512i c = _mm512_cvtepi8_epi32(_mm_shuffle_epi8(values, nibbles));
  _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtepi32_ps(c), _mm512_set1_ps(scale)));
}

#elif defined(__AVX2__)

TSR_INLINE void expand_8(__m128i codes, __m256 scale, float* to) {
  _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)), scale));
}

template <>
TSR_INLINE void expand_bfp8<16>(const std::byte* __restrict codes, float scale, float* __restrict to) {
  const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
  expand_8(c, _mm256_set1_ps(scale), to);
  expand_8(_mm_unpackhi_epi64(c, c), _mm256_set1_ps(scale), to + 8);
}

template <>
TSR_INLINE void expand_bfp4<16>(const std::byte* __restrict codes, float scale, float* __restrict to) {
  const __m128i both = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)), low = _mm_set1_epi8(15);
  const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
  expand_8(_mm_shuffle_epi8(values, _mm_and_si128(both, low)), _mm256_set1_ps(scale), to);
  expand_8(_mm_shuffle_epi8(values, _mm_and_si128(_mm_srli_epi16(both, 4), low)), _mm256_set1_ps(scale), to + 8);
}

#endif

// Tiles have 8 columns, or a multiple of 16.
template <int Bits>
void dense_expand(const std::byte* codes, const std::byte* exponents, std::ptrdiff_t steps, std::ptrdiff_t columns,
                  float* to) {
  constexpr int kShift = Bits == 8 ? kBlockShift_bfp8 : kBlockShift_bfp4;
  if (columns == 8) {
    for (std::ptrdiff_t k = 0; k < steps; ++k, codes += Bits, to += 8) {
      if constexpr (Bits == 8)
        expand_bfp8<8>(codes, block_scale(exponents[k], kShift), to);
      else
        expand_bfp4<8>(codes, block_scale(exponents[k], kShift), to);
    }
    return;
  }
  const std::ptrdiff_t blocks = steps * columns / 16;
  for (std::ptrdiff_t b = 0; b < blocks; ++b, codes += 2 * Bits, to += 16) {
    if constexpr (Bits == 8)
      expand_bfp8<16>(codes, block_scale(exponents[b], kShift), to);
    else
      expand_bfp4<16>(codes, block_scale(exponents[b], kShift), to);
  }
}

}  // namespace

void dense_expand_w16(const std::byte* codes, const std::byte*, std::ptrdiff_t steps, std::ptrdiff_t columns,
                      float* to) {
  const auto* from = reinterpret_cast<const Bf16*>(codes);
  for (std::ptrdiff_t i = 0; i < steps * columns; i += Vec::kWidth) Vec::load(from + i).store(to + i);
}

void dense_expand_bfp8(const std::byte* codes, const std::byte* exponents, std::ptrdiff_t steps, std::ptrdiff_t columns,
                       float* to) {
  dense_expand<8>(codes, exponents, steps, columns, to);
}

void dense_expand_bfp4(const std::byte* codes, const std::byte* exponents, std::ptrdiff_t steps, std::ptrdiff_t columns,
                       float* to) {
  dense_expand<4>(codes, exponents, steps, columns, to);
}

}  // namespace tessera::cpu::TSR_ISA
