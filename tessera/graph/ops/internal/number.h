#pragma once

// Arithmetic that is defined for every value of every element type: floating types compute in double and round once,
// integers wrap.

#include "tessera/core/element_type_of.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera::internal {

template <class T>
double wide(T x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}

// double to float such that rounding on to 16 bits gives what one rounding would: cut off, and if anything was lost
// make the last bit 1.
inline float rounded_to_odd(double x) {
  float y = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(y) == x) return y;
  if (std::abs(static_cast<double>(y)) > std::abs(x)) y = std::nextafter(y, 0.0f);
  return float_from_bits(float_bits(y) | 1u);
}

// Floating types: nearest, to even. Integers: towards zero, the nearest bound where x is outside, 0 for NaN. bool: not
// zero.
template <class T>
T narrow(double x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(rounded_to_odd(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else {
    if (std::isnan(x)) return 0;
    // 2^digits is exact in double where max() is not.
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (x >= beyond) return std::numeric_limits<T>::max();
    if (x <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
    return static_cast<T>(x);
  }
}

// Sums and products are made in this: 64-bit unsigned arithmetic gives the low bits of every integer type.
template <class T>
using Accumulator = std::conditional_t<is_floating_v<T>, double, std::uint64_t>;

template <class T>
Accumulator<T> accumulated(T x) {
  if constexpr (is_floating_v<T>)
    return wide(x);
  else
    return static_cast<std::uint64_t>(x);
}

template <class T>
T finished(Accumulator<T> x) {
  if constexpr (is_floating_v<T>)
    return narrow<T>(x);
  else
    return static_cast<T>(x);
}

template <class T>
bool is_nan(T x) {
  if constexpr (is_floating_v<T>)
    return std::isnan(wide(x));
  else
    return (void)x, false;
}

}  // namespace tessera::internal
