// Conversion kernels for AVX2, 16 values at a time; the rest goes through a padded buffer.

#include "tessera/core/internal/convert_kernels.h"
#include "tessera/core/internal/float_vectors_avx2.h"

namespace tessera {
namespace {

constexpr std::int64_t kStep = 16;

inline __m256 load_floats(const unsigned char* from) { return _mm256_loadu_ps(reinterpret_cast<const float*>(from)); }

template <__m256i (*encode)(__m256, __m256)>
inline void narrow(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 2 * i),
                        encode(load_floats(src + 4 * i), load_floats(src + 4 * i + 32)));
  if (i < count) {
    alignas(32) unsigned char from[4 * kStep] = {}, to[2 * kStep];
    __builtin_memcpy(from, src + 4 * i, static_cast<unsigned long>(4 * (count - i)));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), encode(load_floats(from), load_floats(from + 32)));
    __builtin_memcpy(dst + 2 * i, to, static_cast<unsigned long>(2 * (count - i)));
  }
}

template <__m256 (*decode)(__m128i)>
inline void widen(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  constexpr std::int64_t kHalf = kStep / 2;
  std::int64_t i = 0;
  for (; i + kHalf <= count; i += kHalf)
    _mm256_storeu_ps(reinterpret_cast<float*>(dst + 4 * i),
                     decode(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src + 2 * i))));
  if (i < count) {
    alignas(32) unsigned char from[2 * kHalf] = {}, to[4 * kHalf];
    __builtin_memcpy(from, src + 2 * i, static_cast<unsigned long>(2 * (count - i)));
    _mm256_store_ps(reinterpret_cast<float*>(to), decode(_mm_load_si128(reinterpret_cast<const __m128i*>(from))));
    __builtin_memcpy(dst + 4 * i, to, static_cast<unsigned long>(4 * (count - i)));
  }
}

inline __m256i encode_host(__m256 low, __m256 high) { return join(bfloat16_host(low), bfloat16_host(high)); }
inline __m256i encode_packer(__m256 low, __m256 high) { return join(bfloat16_packer(low), bfloat16_packer(high)); }
inline __m256i encode_float16(__m256 low, __m256 high) { return _mm256_set_m128i(float16(high), float16(low)); }

}  // namespace

void f32_to_bf16_host_avx2(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_host>(src, dst, count);
}
void f32_to_bf16_packer_avx2(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_packer>(src, dst, count);
}
void f32_to_f16_avx2(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_float16>(src, dst, count);
}
void bf16_to_f32_avx2(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  widen<from_bfloat16>(src, dst, count);
}
void f16_to_f32_avx2(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  widen<from_float16>(src, dst, count);
}

}  // namespace tessera
