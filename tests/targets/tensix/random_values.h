#pragma once

// Numbers for tests of values: ordinary ones, and those that arithmetic stumbles over.

#include "tessera/core/float_bits.h"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace tessera::tensix {

enum class Kind { normal, bfloat16, wide, odd };

inline std::vector<float> random_values(std::int64_t count, std::uint64_t seed, Kind kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kOdd[] = {0.0f,
                            -0.0f,
                            1e-40f,
                            -1e-39f,
                            1.1754944e-38f,
                            1.5e-38f,
                            3e38f,
                            -3.4e38f,
                            kInfinity,
                            -kInfinity,
                            std::numeric_limits<float>::quiet_NaN(),
                            1.0f,
                            1.00390625f,
                            -1.9999999f};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& v : out) {
    v = normal(random);
    if (kind == Kind::bfloat16) v = float_from_bfloat16(bfloat16_from_float_host(v));
    if (kind == Kind::wide) v *= float_from_bits(static_cast<std::uint32_t>(64 + random() % 127) << 23);
    if (kind == Kind::odd && random() % 16 == 0) v = kOdd[random() % std::size(kOdd)];
  }
  return out;
}

}  // namespace tessera::tensix
