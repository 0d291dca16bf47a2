#pragma once

// What the quantised convolution and matrix product have in common.

#include "tessera/backends/cpu/kernel.h"
#include "tessera/core/element_type.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cpu {

inline std::int64_t round_up_length(std::int64_t k, std::int64_t step) { return (k + step - 1) / step * step; }

// A byte as its type says.
inline std::int32_t byte_value(const std::byte* at, bool has_sign) {
  return has_sign ? *reinterpret_cast<const std::int8_t*>(at) : static_cast<std::int32_t>(*at);
}

// The zero points of a constant, or none.
inline std::vector<std::int64_t> constant_zeros(const Array* zeros) {
  return zeros == nullptr ? std::vector<std::int64_t>{0} : zeros->to_int64();
}

inline std::string zeros_text(const std::vector<std::int64_t>& zeros) {
  std::string text;
  for (const std::int64_t zero : zeros) text += std::to_string(zero) + ",";
  return text;
}

// round(total * multiplier), half to even, + zero, cut at the ends of the type; NaN gives the lower end.
inline void requantize(const std::int32_t* totals, std::int64_t n, double multiplier, std::int32_t zero, bool has_sign,
                       std::byte* y) {
  const double low = has_sign ? -128 : 0, high = has_sign ? 127 : 255;
  constexpr double kFar = 1 << 20;                   // beyond any byte and zero point
  constexpr double kToInteger = 6755399441055744.0;  // 1.5 * 2^52: a sum with it has no fraction left
  for (std::int64_t i = 0; i < n; ++i) {
    double v = totals[i] * multiplier;
    v = v > -kFar ? v : -kFar;
    v = v < kFar ? v : kFar;
    v = (v + kToInteger) - kToInteger + zero;
    v = v > low ? v : low;
    v = v < high ? v : high;
    y[i] = static_cast<std::byte>(static_cast<std::int32_t>(v));
  }
}

}  // namespace tessera::cpu
