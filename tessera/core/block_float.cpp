#include "tessera/core/block_float.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

constexpr std::uint32_t kHiddenOne = 0x0080'0000u, kMantissa = 0x007F'FFFFu;

constexpr std::uint32_t exponent_of(std::uint32_t bits) { return (bits >> 23) & 0xFFu; }

std::uint32_t largest_exponent(std::span<const std::uint32_t, Block::kSize> bits) {
  std::uint32_t largest = 0;
  for (std::uint32_t u : bits) largest = std::max(largest, exponent_of(u));
  return largest;
}

// 24 bits of mantissa moved right until they count in units of the shared exponent. The bits that fall off are lost.
std::uint32_t aligned_mantissa(std::uint32_t bits, std::uint32_t shared) {
  if (exponent_of(bits) == 0) return 0;
  return ((bits & kMantissa) | kHiddenOne) >> std::min(shared - exponent_of(bits), 31u);
}

std::uint32_t round_to_even(std::uint32_t mantissa, int keep) {
  const int drop = 24 - keep;
  const std::uint32_t kept = mantissa >> drop, cut = mantissa & ((1u << drop) - 1u), half = 1u << (drop - 1);
  return kept + (cut > half || (cut == half && (kept & 1u)) ? 1u : 0u);
}

std::uint8_t code_of(std::uint32_t bits, std::uint32_t magnitude, int magnitude_width) {
  if (magnitude == 0) return 0;
  return static_cast<std::uint8_t>(((bits >> 31) << magnitude_width) | magnitude);
}

void check_block_float(DType dtype) {
  check(is_block_float(dtype), Code::invalid_argument, Hint{"use bfloat8_b or bfloat4_b"},
        "{} has no shared exponents, so it cannot be coded in blocks", name(dtype));
}

}  // namespace

Block encode_block(std::span<const float, Block::kSize> x, DType dtype, Rounding rounding) {
  check_block_float(dtype);
  const int width = magnitude_bits(dtype);
  std::array<std::uint32_t, Block::kSize> bits;
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = rounding == Rounding::host ? float_bits(x[i])
                                         : float_bits(float_from_bfloat16(bfloat16_from_float_packer(x[i])));
  const std::uint32_t shared = largest_exponent(bits);
  Block block;
  block.exponent = static_cast<std::uint8_t>(shared);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::uint32_t mantissa = aligned_mantissa(bits[i], shared);
    std::uint32_t magnitude = 0;
    if (rounding == Rounding::host)
      magnitude = std::min(round_to_even(mantissa, width), (1u << width) - 1u);
    else
      magnitude = std::min(round_to_even(mantissa, 7), 127u) >> (7 - width);
    block.codes[i] = code_of(bits[i], magnitude, width);
  }
  return block;
}

void decode_block(const Block& block, DType dtype, std::span<float, Block::kSize> y) {
  check_block_float(dtype);
  const int width = magnitude_bits(dtype);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::uint32_t sign = ((block.codes[i] >> width) & 1u) << 31;
    const std::uint32_t magnitude = block.codes[i] & ((1u << width) - 1u);
    if (magnitude == 0) {
      y[i] = float_from_bits(sign);
      continue;
    }
    const int up = std::countl_zero(magnitude) - (32 - width);  // moves the leading 1 to the top of the magnitude
    const int exponent = int{block.exponent} - up;
    const std::uint32_t fraction = (magnitude << (up + 24 - width)) & kMantissa;
    y[i] = exponent < 0 ? 0.0f : float_from_bits(sign | (static_cast<std::uint32_t>(exponent) << 23) | fraction);
  }
}

}  // namespace tessera
