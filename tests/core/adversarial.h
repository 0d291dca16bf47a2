#pragma once

// float32 values that break careless conversions.

#include "tessera/core/float_bits.h"

#include <cstdint>
#include <random>
#include <vector>

namespace tessera::for_tests {

enum class Values { bits, normal, mixed, ties, specials, tiny, huge, zeros };

constexpr Values kAllValues[] = {Values::bits,     Values::normal, Values::mixed, Values::ties,
                                 Values::specials, Values::tiny,   Values::huge,  Values::zeros};

inline std::vector<float> adversarial(Values kind, std::size_t count, std::uint32_t seed) {
  constexpr std::uint32_t kSpecials[] = {0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800000,
                                         0x3F800000, 0x3FFFFFFF, 0xBFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                         0xFF800000, 0x7F800001, 0xFF800001, 0x7FC00000, 0xFFC01234, 0x7FFFFFFF,
                                         0xFFFFFFFF, 0x7FBFFFFF, 0x007FFFFF};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto make = [&](std::uint32_t exponent, std::uint32_t mantissa) {
    return (below(2) << 31) | (exponent << 23) | (mantissa & 0x7FFFFFu);
  };
  std::vector<float> values(count);
  std::uint32_t base = 100;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 16 == 0) base = 1 + below(255);  // a new largest exponent for every block
    std::uint32_t u = 0;
    switch (kind) {
      case Values::bits: u = static_cast<std::uint32_t>(random()); break;
      case Values::normal: u = float_bits(normal(random)); break;
      case Values::mixed: {  // exponents 0 to 40 below the largest
        const std::uint32_t gap = below(41);
        u = base > gap ? make(base - gap, static_cast<std::uint32_t>(random())) : 0;
        break;
      }
      case Values::ties: {  // around the halves of a 7- or 3-bit code, also after alignment
        const std::uint32_t gap = below(9), half = 1u << ((below(2) ? 16u : 20u) + (below(2) ? gap : 0u));
        const std::uint32_t mantissa = (static_cast<std::uint32_t>(random()) & ~(2 * half - 1)) + half;
        const std::uint32_t step = below(5) == 0 ? (1u << below(10)) : 0u;
        u = make(120 - gap, below(2) ? mantissa + step : mantissa - step);
        break;
      }
      case Values::specials: u = below(3) ? kSpecials[below(std::size(kSpecials))] : float_bits(normal(random)); break;
      case Values::tiny: u = make(below(28), static_cast<std::uint32_t>(random())); break;
      case Values::huge:
        u = make(246 + below(base % 3 ? 9 : 10), below(4) ? static_cast<std::uint32_t>(random()) : 0x7FFFFFu);
        break;
      case Values::zeros: u = below(2) << 31; break;
    }
    values[i] = float_from_bits(u);
  }
  return values;
}

}  // namespace tessera::for_tests
