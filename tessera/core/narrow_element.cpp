#include "tessera/core/narrow_element.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

// Of a float: sign, exponent, fraction. `top` is the largest finite magnitude as bits.
struct FloatFormat {
  int exponent_bits, fraction_bits, bias;
  unsigned top, nan;
  bool has_infinity = false;  // right above `top`
  bool negative_zero = true;  // otherwise that pattern is the only NaN
  bool has_nan = true;
};

FloatFormat format_of(ElementType type) {
  switch (type) {
    case ElementType::float8_e5m2: return {5, 2, 15, 0x7B, 0x7E, true};
    case ElementType::float8_e4m3: return {4, 3, 7, 0x7E, 0x7F};
    case ElementType::float8_e5m2fnuz: return {5, 2, 16, 0x7F, 0x80, false, false};
    case ElementType::float8_e4m3fnuz: return {4, 3, 8, 0x7F, 0x80, false, false};
    case ElementType::float4_e2m1: return {2, 1, 1, 0x7, 0x8, false, true, false};
    default: fail(Code::internal, "{} is no narrow float", name(type));
  }
}

constexpr unsigned kPowerNan = 0xFF;
constexpr int kPowerBias = 127;

bool is_integer_type(ElementType type) {
  return type == ElementType::int4 || type == ElementType::uint4 || type == ElementType::int2 ||
         type == ElementType::uint2;
}
bool is_signed_type(ElementType type) { return type == ElementType::int4 || type == ElementType::int2; }

double magnitude_of(const FloatFormat& f, unsigned magnitude) {
  const int exponent = static_cast<int>(magnitude >> f.fraction_bits);
  const unsigned fraction = magnitude & ((1u << f.fraction_bits) - 1);
  const unsigned significand = exponent == 0 ? fraction : fraction | (1u << f.fraction_bits);
  return std::ldexp(significand, std::max(exponent, 1) - f.bias - f.fraction_bits);
}

// The nearest multiple of the step at this size, ties to even, as bits; may be beyond `top`.
unsigned nearest_magnitude(const FloatFormat& f, double magnitude) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent - 1), 2^exponent)
  const int least = 1 - f.bias, scale = std::max(exponent - 1, least) - f.fraction_bits;
  const double steps = std::nearbyint(std::ldexp(magnitude, -scale));
  // A step up to the next power of 2 carries into the exponent by itself.
  const double bits = steps + static_cast<double>(scale + f.fraction_bits - least) * (1 << f.fraction_bits);
  return static_cast<unsigned>(std::min(bits, 65536.0));
}

std::uint8_t float_element(const FloatFormat& f, double value, bool saturate) {
  const unsigned sign_bit = 1u << (f.exponent_bits + f.fraction_bits);
  if (std::isnan(value)) return static_cast<std::uint8_t>(f.nan);
  const unsigned sign = std::signbit(value) ? sign_bit : 0;
  unsigned bits = std::isinf(value) ? f.top + 1 : value == 0 ? 0 : nearest_magnitude(f, std::abs(value));
  if (bits > f.top) {
    if (!saturate && f.has_nan && !f.has_infinity)
      return static_cast<std::uint8_t>(f.negative_zero ? sign | f.nan : f.nan);
    bits = saturate || !f.has_infinity ? f.top : f.top + 1;
  }
  return static_cast<std::uint8_t>(bits == 0 && !f.negative_zero ? 0 : sign | bits);
}

// The sign is left out; what is no power of 2 goes to one of its neighbours. Infinity is NaN.
std::uint8_t power_element(double value, const NarrowRounding& rounding) {
  const auto x = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  unsigned exponent = (x >> 23) & 0xFF;
  const std::uint32_t fraction = x & 0x7F'FFFF, half = 0x40'0000;
  if (exponent == kPowerNan) return kPowerNan;
  const bool up = rounding.power == PowerRounding::up        ? fraction != 0
                  : rounding.power == PowerRounding::nearest ? fraction > half || (fraction == half && exponent > 0)
                                                             : false;
  if (up && !(rounding.saturate && exponent == kPowerNan - 1)) ++exponent;
  return static_cast<std::uint8_t>(exponent);
}

std::uint8_t integer_element(ElementType type, double value, bool saturate) {
  if (std::isnan(value)) return 0;
  const int bits = element_bits(type);
  const double low = is_signed_type(type) ? -std::ldexp(1, bits - 1) : 0, high = low + std::ldexp(1, bits) - 1;
  value = std::trunc(value);
  if (saturate) return static_cast<std::uint8_t>(static_cast<int>(std::clamp(value, low, high)));
  // The remainder is exact, and 0 for infinities, which have no low bits.
  const double low_bits = std::isinf(value) ? 0 : std::fmod(value, 256.0);
  return narrow_from_bits(type, static_cast<unsigned>(static_cast<int>(low_bits)));
}

}  // namespace

double narrow_value(ElementType type, std::uint8_t element) {
  if (is_integer_type(type)) return is_signed_type(type) ? static_cast<std::int8_t>(element) : element;
  if (type == ElementType::float8_e8m0)
    return element == kPowerNan ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1, element - kPowerBias);
  const FloatFormat f = format_of(type);
  const unsigned sign_bit = 1u << (f.exponent_bits + f.fraction_bits), magnitude = element & (sign_bit - 1);
  const bool negative = (element & sign_bit) != 0;
  if (!f.negative_zero && element == f.nan) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > f.top)
    return f.has_infinity && magnitude == f.top + 1
               ? std::copysign(std::numeric_limits<double>::infinity(), negative ? -1.0 : 1.0)
               : std::numeric_limits<double>::quiet_NaN();
  return std::copysign(magnitude_of(f, magnitude), negative ? -1.0 : 1.0);
}

std::uint8_t narrow_element(ElementType type, double value, const NarrowRounding& rounding) {
  if (is_integer_type(type)) return integer_element(type, value, rounding.saturate);
  if (type == ElementType::float8_e8m0) return power_element(value, rounding);
  return float_element(format_of(type), value, rounding.saturate);
}

std::uint8_t narrow_from_bits(ElementType type, unsigned bits) {
  const int count = element_bits(type);
  bits &= (1u << count) - 1;
  const bool negative = is_signed_type(type) && (bits >> (count - 1)) != 0;
  return static_cast<std::uint8_t>(negative ? bits | ~((1u << count) - 1) : bits);
}

}  // namespace tessera
