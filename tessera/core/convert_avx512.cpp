// Conversion kernels for AVX-512, 16 values at a time; masks take care of the rest.

#include "tessera/core/internal/convert_kernels.h"
#include "tessera/core/internal/float_vectors_avx512.h"

namespace tessera {
namespace {

constexpr std::int64_t kStep = 16;

template <__m256i (*encode)(__m512)>
inline void narrow(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 2 * i),
                        encode(_mm512_loadu_ps(reinterpret_cast<const float*>(src + 4 * i))));
  if (i < count) {
    const auto rest = static_cast<__mmask16>((1u << (count - i)) - 1);
    _mm256_mask_storeu_epi16(dst + 2 * i, rest, encode(_mm512_maskz_loadu_ps(rest, src + 4 * i)));
  }
}

template <__m512 (*decode)(__m256i)>
inline void widen(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    _mm512_storeu_ps(reinterpret_cast<float*>(dst + 4 * i),
                     decode(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 2 * i))));
  if (i < count) {
    const auto rest = static_cast<__mmask16>((1u << (count - i)) - 1);
    _mm512_mask_storeu_ps(dst + 4 * i, rest, decode(_mm256_maskz_loadu_epi16(rest, src + 2 * i)));
  }
}

inline __m256i encode_host(__m512 x) { return _mm512_cvtepi32_epi16(bfloat16_host(x)); }
inline __m256i encode_packer(__m512 x) { return _mm512_cvtepi32_epi16(bfloat16_packer(x)); }

}  // namespace

void f32_to_bf16_host_avx512(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_host>(src, dst, count);
}
void f32_to_bf16_packer_avx512(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_packer>(src, dst, count);
}
void f32_to_f16_avx512(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<float16>(src, dst, count);
}
void bf16_to_f32_avx512(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  widen<from_bfloat16>(src, dst, count);
}
void f16_to_f32_avx512(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  widen<from_float16>(src, dst, count);
}

}  // namespace tessera
