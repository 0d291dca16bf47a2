#pragma once

// Conversions between float32 and the 16-bit floats, one value at a time: the definition that the vector kernels must
// match bit for bit.

#include <bit>
#include <cstdint>

namespace tessera {

// Who converts. `host` is what TTNN does on the CPU when a tensor is made; `packer` is what a Tensix core does when it
// writes the result of an operation.
enum class Rounding : std::uint8_t { host, packer };

constexpr std::uint32_t float_bits(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr float float_from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

constexpr bool is_nan_bits(std::uint32_t bits) { return (bits & 0x7FFF'FFFFu) > 0x7F80'0000u; }

// Host: nearest, ties to even; every NaN becomes 0x7FC0; denormals and -0 survive.
constexpr std::uint16_t bfloat16_from_float_host(float x) {
  const std::uint32_t u = float_bits(x);
  if (is_nan_bits(u)) return 0x7FC0;
  return static_cast<std::uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

// Packer: nearest, ties away from zero; denormals become zeros of their sign. The documentation leaves NaN open
// ("does not follow IEEE"): we keep the host's 0x7FC0.
constexpr std::uint16_t bfloat16_from_float_packer(float x) {
  const std::uint32_t u = float_bits(x);
  if (is_nan_bits(u)) return 0x7FC0;
  if ((u & 0x7F80'0000u) == 0) return static_cast<std::uint16_t>((u >> 16) & 0x8000u);
  return static_cast<std::uint16_t>((u + 0x8000u) >> 16);
}

constexpr std::uint16_t bfloat16_from_float(float x, Rounding rounding) {
  return rounding == Rounding::host ? bfloat16_from_float_host(x) : bfloat16_from_float_packer(x);
}

constexpr float float_from_bfloat16(std::uint16_t bits) { return float_from_bits(std::uint32_t{bits} << 16); }

// IEEE: nearest, ties to even, subnormals kept; a NaN stays a (quiet) NaN with its sign and upper payload bits.
constexpr std::uint16_t float16_from_float(float x) {
  const std::uint32_t u = float_bits(x);
  const std::uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFF'FFFFu;
  if (magnitude > 0x7F80'0000u) return static_cast<std::uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
  if (magnitude >= 0x4780'0000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // 65536 and above
  std::uint32_t kept = 0, cut = 0, half = 0;
  if (magnitude >= 0x3880'0000u) {  // normal in float16: 2^-14 and above
    kept = (magnitude - 0x3800'0000u) >> 13;
    cut = magnitude & 0x1FFFu;
    half = 0x1000u;
  } else {
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below 2^-25: rounds to zero
    const std::uint32_t mantissa = (magnitude & 0x007F'FFFFu) | 0x0080'0000u, shift = 126 - exponent;
    kept = mantissa >> shift;
    cut = mantissa & ((1u << shift) - 1u);
    half = 1u << (shift - 1);
  }
  if (cut > half || (cut == half && (kept & 1u))) ++kept;  // may carry into the exponent, up to infinity: as IEEE wants
  return static_cast<std::uint16_t>(sign | kept);
}

constexpr float float_from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1Fu, mantissa = bits & 0x3FFu;
  if (exponent == 31) {
    const std::uint32_t quiet = mantissa != 0 ? 0x0040'0000u : 0u;
    return float_from_bits(sign | 0x7F80'0000u | quiet | (mantissa << 13));
  }
  if (exponent != 0) return float_from_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return float_from_bits(sign);
  const auto up = static_cast<std::uint32_t>(std::countl_zero(mantissa) - 21);  // moves the leading 1 to bit 10
  return float_from_bits(sign | ((113 - up) << 23) | (((mantissa << up) & 0x3FFu) << 13));
}

}  // namespace tessera
