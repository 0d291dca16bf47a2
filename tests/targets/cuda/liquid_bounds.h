#pragma once

// Numbers that know how far float32 arithmetic may be from them, to first order and rounded up.

#include <algorithm>
#include <cmath>

namespace tessera::cuda {

struct Bounded {
  double value = 0, error = 0;

  static constexpr double kRounding = 0x1p-24;  // of one float32 operation, relative
  static Bounded rounded(double value, double error) { return {value, error + kRounding * std::abs(value)}; }
};

inline Bounded operator+(const Bounded& a, const Bounded& b) {
  return Bounded::rounded(a.value + b.value, a.error + b.error);
}
inline Bounded operator-(const Bounded& a, const Bounded& b) {
  return Bounded::rounded(a.value - b.value, a.error + b.error);
}
inline Bounded operator*(const Bounded& a, const Bounded& b) {
  return Bounded::rounded(a.value * b.value,
                          std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error);
}
inline Bounded operator/(const Bounded& a, const Bounded& b) {
  const double value = a.value / b.value, least = std::abs(b.value) - b.error;
  return Bounded::rounded(value, least > 0 ? (a.error + std::abs(value) * b.error) / least : INFINITY);
}

// Of a function whose slope grows towards 0 and is even: the steepest place that the argument may be at.
template <class Slope>
double carried(const Bounded& x, const Slope& slope) {
  if (std::isinf(x.value) || x.error == 0) return 0;
  return x.error * slope(std::max(0.0, std::abs(x.value) - x.error));
}

// The functions of the kernels: exp and 1/x to 2^-21 of their values, which covers the approximate ones.
inline constexpr double kFunctionRounding = 0x1p-21;

inline Bounded bounded_tanh(const Bounded& x) {
  const double value = std::tanh(x.value);
  return {value, carried(x, [](double at) { return 1 / (std::cosh(at) * std::cosh(at)); }) + 2 * kFunctionRounding};
}
inline Bounded bounded_logistic(const Bounded& x) {
  const double value = 1 / (1 + std::exp(-x.value));
  // Arguments of exp are rounded once: that is a part of what it gives.
  const double argument = std::isinf(x.value) ? 0 : 2 * Bounded::kRounding * std::abs(x.value) * value * (1 - value);
  return {value, carried(x,
                         [](double at) {
                           const double s = 1 / (1 + std::exp(-at));
                           return s * (1 - s);
                         }) +
                     argument + kFunctionRounding * value + 0x1p-126};
}
inline Bounded bounded_exp(const Bounded& x) {
  const double value = std::exp(x.value);
  return {value, value * (std::expm1(x.error) + 2 * Bounded::kRounding * std::abs(x.value) + kFunctionRounding)};
}

}  // namespace tessera::cuda
