// The conversion kernels in plain C++, on top of the scalar definitions.

#include "tessera/core/float_bits.h"
#include "tessera/core/internal/convert_kernels.h"

#include <cstring>

namespace tessera::portable {
namespace {

template <class From, class To, To (*one)(From)>
void each(const unsigned char* src, unsigned char* dst, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, src + i * static_cast<std::int64_t>(sizeof x), sizeof x);
    const To y = one(x);
    std::memcpy(dst + i * static_cast<std::int64_t>(sizeof y), &y, sizeof y);
  }
}

}  // namespace

void f32_to_bf16_host(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  each<float, std::uint16_t, bfloat16_from_float_host>(src, dst, count);
}
void f32_to_bf16_packer(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  each<float, std::uint16_t, bfloat16_from_float_packer>(src, dst, count);
}
void f32_to_f16(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  each<float, std::uint16_t, float16_from_float>(src, dst, count);
}
void bf16_to_f32(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  each<std::uint16_t, float, float_from_bfloat16>(src, dst, count);
}
void f16_to_f32(const unsigned char* src, unsigned char* dst, std::int64_t count) noexcept {
  each<std::uint16_t, float, float_from_float16>(src, dst, count);
}

}  // namespace tessera::portable
