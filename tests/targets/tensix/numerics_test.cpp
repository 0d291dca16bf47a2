#include "tessera/targets/tensix/card/numerics.h"

#include "tests/targets/tensix/random_values.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace tessera::tensix {
namespace {

float bits(std::uint32_t u) { return float_from_bits(u); }

TEST(Numerics, OperandsKeepTenStoredBitsAndNoDenormals) {
  EXPECT_EQ(widen(bits(0x3FFF'FFFFu)), bits(0x3FFF'E000u));
  EXPECT_EQ(widen(bits(0x3FFF'E000u)), bits(0x3FFF'E000u));
  EXPECT_EQ(widen(bits(0x3FFF'0000u)), bits(0x3FFF'0000u)) << "a bfloat16 stays";
  EXPECT_EQ(float_bits(widen(1e-40f)), 0u);
  EXPECT_EQ(float_bits(widen(-1e-40f)), 0x8000'0000u);
  EXPECT_EQ(float_bits(widen(bits(0xFFFF'FFFFu))), 0x7FC0'0000u);
  EXPECT_TRUE(std::isinf(widen(INFINITY)));
}

TEST(Numerics, SlicesAddUpToTheOperandExceptForTheTenthBitOfAWeight) {
  for (const float value : random_values(1000, 1, Kind::wide)) {
    const float x = widen(value);
    EXPECT_EQ(activation_slice(x, 0) + activation_slice(x, 2), x);
    EXPECT_EQ(activation_slice(x, 0), activation_slice(x, 1));
    EXPECT_EQ(activation_slice(x, 2), activation_slice(x, 3));
    EXPECT_EQ(weight_slice(x, 0) + weight_slice(x, 1), bits(float_bits(x) & 0xFFFF'C000u));
    EXPECT_EQ(weight_slice(x, 0), weight_slice(x, 2));
    EXPECT_EQ(weight_slice(x, 1), weight_slice(x, 3));
  }
}

TEST(Numerics, SlicesAreCutNotRounded) {
  const float all_ones = bits(0x3FFF'E000u);               // 1.1111111111b
  EXPECT_EQ(weight_slice(all_ones, 0), 1.9375f);           // 1.1111b
  EXPECT_EQ(weight_slice(all_ones, 1), 31.0f / 512);       // the next five
  EXPECT_EQ(activation_slice(all_ones, 0), 1.984375f);     // 1.111111b
  EXPECT_EQ(activation_slice(all_ones, 2), 15.0f / 1024);  // the last four
  EXPECT_EQ(weight_slice(INFINITY, 0), INFINITY);
  EXPECT_EQ(weight_slice(INFINITY, 1), 0.0f);
}

// 7 bits of magnitude without a hidden one, and 3.
TEST(Numerics, BlockFloatsNeedTwoPhasesOrOneAsWeights) {
  for (int magnitude = 1; magnitude < 128; ++magnitude) {
    const float x = widen(static_cast<float>(magnitude));
    EXPECT_EQ(activation_slice(x, 2), 0.0f) << magnitude;
    EXPECT_EQ(weight_slice(x, 0) + weight_slice(x, 1), x) << magnitude;
    if (magnitude < 8) {
      EXPECT_EQ(weight_slice(x, 1), 0.0f) << magnitude;
    }
  }
}

TEST(Numerics, DstRoundsToBfloat16TiesToEvenOrKeepsFloat32) {
  EXPECT_EQ(into_dst(bits(0x3F80'8000u), false), bits(0x3F80'0000u));
  EXPECT_EQ(into_dst(bits(0xBF81'8000u), false), bits(0xBF82'0000u));
  EXPECT_EQ(into_dst(bits(0x3F80'8001u), false), bits(0x3F81'0000u));
  EXPECT_EQ(into_dst(bits(0x3F80'7FFFu), false), 1.0f);
  EXPECT_EQ(into_dst(bits(0x3F80'7FFFu), true), bits(0x3F80'7FFFu));
  EXPECT_EQ(into_dst(bits(0x7F7F'FFFFu), false), INFINITY);
  EXPECT_EQ(float_bits(into_dst(-1e-40f, true)), 0u);
}

TEST(Numerics, AnInstructionAddsSixteenProductsAndThenRounds) {
  std::array<float, 16> a, b;
  a.fill(1.0f);
  b.fill(1.0f / 256);
  // Each alone would be lost beside 1 in bfloat16 (its steps are 1/128); together they are 1/16.
  EXPECT_EQ(multiply_add(a, b, 0, 1.0f, false), 1.0625f);
  b.fill(0);
  b[3] = 1.0f / 1024;
  EXPECT_EQ(multiply_add(a, b, 0, 1.0f, false), 1.0f);
  EXPECT_EQ(multiply_add(a, b, 0, 1.0f, true), 1.0f + 1.0f / 1024);
}

TEST(Numerics, StoredMatricesAreStoredBlocks) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::bfloat8_b, DType::bfloat4_b})
    for (const Rounding rounding : {Rounding::host, Rounding::packer}) {
      const std::int64_t rows = 5, columns = 37;
      const std::vector<float> x = random_values(rows * columns, 3, Kind::wide);
      std::vector<float> by_blocks = x;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; c += 16)
          store_block(
              {by_blocks.data() + r * columns + c, static_cast<std::size_t>(std::min<std::int64_t>(16, columns - c))},
              dtype, rounding);
      EXPECT_EQ(stored_values(x, {rows, columns}, dtype, rounding), by_blocks) << name(dtype);
    }
}

TEST(Numerics, ActivationsAreFoundByName) {
  std::vector<float> x{-2, 0, 0.5, 7};
  apply(activation_from_name("relu6"), x, false);
  EXPECT_THAT(x, testing::ElementsAre(0, 0, 0.5, 6));
  apply(activation_from_name("sigmoid"), x, false);
  EXPECT_EQ(x[2], into_dst(static_cast<float>(1 / (1 + std::exp(-0.5))), false));
  x = {-8, 2};
  apply(activation_from_name("leaky_relu(0.25)"), x, true);
  EXPECT_THAT(x, testing::ElementsAre(-2, 2));
  for (const char* wrong : {"relu(1)", "leaky_relu()", "leaky_relu(0.1", "elu(1, 2)", "elu("})
    EXPECT_THROW(activation_from_name(wrong), Error) << wrong;
  try {
    activation_from_name("rulu");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("no activation is called 'rulu'"));
  }
}

}  // namespace
}  // namespace tessera::tensix
