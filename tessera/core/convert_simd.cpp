// Conversion kernels for vectors, 16 values at a time; the rest goes through a padded buffer. convert_portable.cpp has
// what they must be equal to.
//
// Compiled for: avx2 avx512

#include "tessera/core/internal/convert_kernels.h"
#include "tessera/simd/halves.h"

namespace tessera::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

inline Vec load_floats(const unsigned char* from) { return Vec::load(reinterpret_cast<const float*>(from)); }

template <Ints (*encode)(Vec)>
inline Halves encode_each(const Vec (&x)[kHalvesParts]) {
  Ints codes[kHalvesParts];
  for (int p = 0; p < kHalvesParts; ++p) codes[p] = encode(x[p]);
  return halves(codes);
}

template <Halves (*encode)(const Vec (&)[kHalvesParts])>
inline void narrow_16(const unsigned char* src, unsigned char* dst) {
  Vec x[kHalvesParts];
  for (int p = 0; p < kHalvesParts; ++p) x[p] = load_floats(src + 4 * p * Vec::kWidth);
  encode(x).store(dst);
}

template <Halves (*encode)(const Vec (&)[kHalvesParts])>
inline void narrow(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kHalves <= count; i += kHalves) narrow_16<encode>(src + 4 * i, dst + 2 * i);
  if (i < count) {
    alignas(64) unsigned char from[4 * kHalves] = {}, to[2 * kHalves];
    __builtin_memcpy(from, src + 4 * i, static_cast<unsigned long>(4 * (count - i)));
    narrow_16<encode>(from, to);
    __builtin_memcpy(dst + 2 * i, to, static_cast<unsigned long>(2 * (count - i)));
  }
}

inline Vec load_bfloat16(const void* at) { return Vec::load(static_cast<const Bf16*>(at)); }

template <Vec (*decode)(const void*)>
inline void widen(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  constexpr std::int64_t kStep = Vec::kWidth;
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep) decode(src + 2 * i).store(reinterpret_cast<float*>(dst + 4 * i));
  if (i < count) {
    alignas(64) unsigned char from[2 * kStep] = {};
    alignas(64) float to[kStep];
    __builtin_memcpy(from, src + 2 * i, static_cast<unsigned long>(2 * (count - i)));
    decode(from).store(to);
    __builtin_memcpy(dst + 4 * i, to, static_cast<unsigned long>(4 * (count - i)));
  }
}

}  // namespace

void f32_to_bf16_host(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_each<bfloat16_host>>(src, dst, count);
}
void f32_to_bf16_packer(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<encode_each<bfloat16_packer>>(src, dst, count);
}
void f32_to_f16(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  narrow<float16>(src, dst, count);
}
void bf16_to_f32(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  widen<load_bfloat16>(src, dst, count);
}
void f16_to_f32(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  widen<load_float16>(src, dst, count);
}

}  // namespace tessera::TSR_ISA
