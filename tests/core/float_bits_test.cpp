#include "tessera/core/float_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

// The float just above or below, in magnitude.
float next_up(float x) { return float_from_bits(float_bits(x) + 1); }
float next_down(float x) { return float_from_bits(float_bits(x) - 1); }

bool is_nan16(std::uint32_t bits, int mantissa_bits) {
  const std::uint32_t top = 0x7FFFu >> mantissa_bits << mantissa_bits;
  return (bits & 0x7FFFu) > top;
}

TEST(Bfloat16, EveryValueButNanSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = float_from_bfloat16(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(float_bits(x), bits << 16);
    EXPECT_EQ(bfloat16_from_float_host(x), is_nan16(bits, 7) ? 0x7FC0 : bits);
    const bool denormal = (bits & 0x7F80) == 0;
    EXPECT_EQ(bfloat16_from_float_packer(x), is_nan16(bits, 7) ? 0x7FC0 : denormal ? bits & 0x8000 : bits);
  }
}

// Between any two neighbours: nearest wins, and the tie goes to the even one (host) or away from zero (packer).
TEST(Bfloat16, RoundsToTheNearestNeighbourEverywhere) {
  for (std::uint32_t low = 0; low < 0x7F80; ++low)
    for (std::uint32_t sign : {0u, 0x8000u}) {
      const float tie = float_from_bits(((sign | low) << 16) | 0x8000u);
      const std::uint32_t high = low + 1, even = low & 1 ? high : low;
      ASSERT_EQ(bfloat16_from_float_host(tie), sign | even);
      ASSERT_EQ(bfloat16_from_float_host(next_up(tie)), sign | high);
      ASSERT_EQ(bfloat16_from_float_host(next_down(tie)), sign | low);
      const bool flushed = low < 0x80;
      ASSERT_EQ(bfloat16_from_float_packer(tie), sign | (flushed ? 0 : high));
      ASSERT_EQ(bfloat16_from_float_packer(next_up(tie)), sign | (flushed ? 0 : high));
      ASSERT_EQ(bfloat16_from_float_packer(next_down(tie)), sign | (flushed ? 0 : low));
    }
}

TEST(Bfloat16, EveryNanBecomesTheSameOne) {
  for (std::uint32_t bits : {0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0xFFFFFFFFu, 0x7FC00000u, 0xFFC00000u})
    for (Rounding rounding : {Rounding::host, Rounding::packer})
      EXPECT_EQ(bfloat16_from_float(float_from_bits(bits), rounding), 0x7FC0);
}

TEST(Float16, EveryValueDecodesToWhatItsFieldsSay) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = float_from_float16(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>((bits >> 10) & 31), mantissa = static_cast<int>(bits & 1023);
    if (is_nan16(bits, 10)) {
      EXPECT_TRUE(std::isnan(x));
      EXPECT_EQ(float_bits(x) >> 31, bits >> 15);
      EXPECT_EQ(float_bits(x) & 0x7FFFFFu, 0x400000u | (static_cast<std::uint32_t>(mantissa) << 13));
      continue;
    }
    const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    EXPECT_EQ(double{x}, bits & 0x8000 ? -magnitude : magnitude);
    EXPECT_EQ(std::signbit(x), (bits & 0x8000) != 0);
    EXPECT_EQ(float16_from_float(x), bits);
  }
}

TEST(Float16, RoundsToTheNearestNeighbourEverywhere) {
  for (std::uint32_t low = 0; low < 0x7C00; ++low)
    for (std::uint32_t sign : {0u, 0x8000u}) {
      const std::uint32_t high = low + 1, even = low & 1 ? high : low;
      const double a = double{float_from_float16(static_cast<std::uint16_t>(low))};
      // Past the largest value comes infinity, as if it were 65536.
      const double b = high == 0x7C00 ? 65536.0 : double{float_from_float16(static_cast<std::uint16_t>(high))};
      const float tie = static_cast<float>(sign ? -(a + b) / 2 : (a + b) / 2);
      ASSERT_EQ(float16_from_float(tie), sign | even) << low;
      ASSERT_EQ(float16_from_float(next_up(tie)), sign | high) << low;
      ASSERT_EQ(float16_from_float(next_down(tie)), sign | low) << low;
    }
}

TEST(Float16, NansStayQuietNansAndTinyValuesBecomeZeros) {
  EXPECT_EQ(float16_from_float(float_from_bits(0x7F800001)), 0x7E00);
  EXPECT_EQ(float16_from_float(float_from_bits(0xFFABC000)), 0xFE00 | (0xABC000 >> 13 & 0x3FF));
  EXPECT_EQ(float16_from_float(float_from_bits(0x7FFFFFFF)), 0x7FFF);
  EXPECT_EQ(float16_from_float(float_from_bits(0x00000001)), 0x0000);
  EXPECT_EQ(float16_from_float(float_from_bits(0x80000001)), 0x8000);
  EXPECT_EQ(float16_from_float(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(float16_from_float(-std::numeric_limits<float>::max()), 0xFC00);
}

}  // namespace
}  // namespace tessera
