#include "tessera/core/block_float.h"

#include "adversarial.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using Floats = std::array<float, Block::kSize>;

constexpr DType kBlockFloats[] = {DType::bfloat8_b, DType::bfloat4_b};

// What becomes of the first value of a block.
float through(Floats x, DType dtype, Rounding rounding) {
  Floats y;
  decode_block(encode_block(x, dtype, rounding), dtype, y);
  return y[0];
}

TEST(BlockFloat, RoundingUpOutOfRangeSaturates) {
  EXPECT_EQ(through({1.9999999f}, DType::bfloat8_b, Rounding::host), 1.984375f);
  EXPECT_EQ(through({1.9999999f}, DType::bfloat4_b, Rounding::host), 1.75f);
  EXPECT_EQ(through({-1.9999999f}, DType::bfloat8_b, Rounding::host), -1.984375f);
}

TEST(BlockFloat, ZerosAndWhatRoundsToZeroLoseTheirSign) {
  for (float x : {-0.0f, -1e-40f, -1e-30f})
    for (Rounding rounding : {Rounding::host, Rounding::packer})
      for (DType dtype : kBlockFloats) EXPECT_EQ(float_bits(through({x, 1.0f}, dtype, rounding)), 0u);
}

TEST(BlockFloat, BitsLostInAlignmentDoNotBreakATie) {
  // 2.5 codes and a little more, under an exponent 5 above its own: the little is shifted out, the tie goes to even.
  const float unit = 1.0f / 64;  // the code of 1 is 64
  const float x = 2.5f * unit * (1 + std::ldexp(1.0f, -22));
  EXPECT_EQ(through({x, 1.0f}, DType::bfloat8_b, Rounding::host), 2 * unit);
  // With no bits lost (same exponent) the little counts.
  const float y = 64.5f * unit * (1 + std::ldexp(1.0f, -22));
  EXPECT_EQ(through({y, 1.0f}, DType::bfloat8_b, Rounding::host), 65 * unit);
}

TEST(BlockFloat, InfinityStaysAndPushesOthersToZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (DType dtype : kBlockFloats) {
    EXPECT_EQ(through({-infinity, 1.0f}, dtype, Rounding::host), -infinity);
    EXPECT_EQ(through({1.0f, infinity}, dtype, Rounding::host), 0.0f);
    EXPECT_EQ(through({std::numeric_limits<float>::max(), infinity}, dtype, Rounding::host), infinity);
    EXPECT_EQ(through({float_from_bits(0x7F800001)}, dtype, Rounding::host), infinity);  // a signalling NaN
    EXPECT_TRUE(std::isnan(through({float_from_bits(0x7FC00000)}, dtype, Rounding::host)));
    EXPECT_TRUE(std::isnan(through({float_from_bits(0x7F800001)}, dtype, Rounding::packer)));
  }
}

TEST(BlockFloat, ThePackerRoundsTiesToEven) {
  const float unit = 1.0f / 64;
  EXPECT_EQ(through({2.5f * unit, 1.0f}, DType::bfloat8_b, Rounding::packer), 2 * unit);
  EXPECT_EQ(through({-3.5f * unit, 1.0f}, DType::bfloat8_b, Rounding::packer), -4 * unit);
  EXPECT_EQ(through({2.5f * unit, 1.0f}, DType::bfloat8_b, Rounding::host), 2 * unit);
}

TEST(BlockFloat, ThePackerGoesThroughBfloat16AndItsExponent) {
  // Rounds up to 2 in bfloat16, so the shared exponent is that of 2; the host saturates below 2.
  EXPECT_EQ(encode_block(Floats{1.9999999f}, DType::bfloat8_b, Rounding::packer).exponent, 128);
  EXPECT_EQ(through({1.9999999f}, DType::bfloat8_b, Rounding::packer), 2.0f);
  // 255/128 is a bfloat16; as bfloat8_b it would need 128 of 127 codes.
  EXPECT_EQ(through({255.0f / 128}, DType::bfloat8_b, Rounding::packer), 127.0f / 64);
  // Rounded twice: to bfloat16 up to a tie, then to the even one above.
  const float unit = 1.0f / 64, x = 3.5f * unit - std::ldexp(1.0f, -16);
  EXPECT_EQ(through({x, 1.0f}, DType::bfloat8_b, Rounding::packer), 4 * unit);
  EXPECT_EQ(through({x, 1.0f}, DType::bfloat8_b, Rounding::host), 3 * unit);
}

TEST(BlockFloat, ThePackerTruncatesBfloat4) {
  EXPECT_EQ(through({1.73f}, DType::bfloat4_b, Rounding::packer), 1.5f);
  EXPECT_EQ(through({1.73f}, DType::bfloat4_b, Rounding::host), 1.75f);
  EXPECT_EQ(through({-0.24f, 1.0f}, DType::bfloat4_b, Rounding::packer), 0.0f);
  EXPECT_EQ(float_bits(through({-0.24f, 1.0f}, DType::bfloat4_b, Rounding::packer)), 0u);
}

TEST(BlockFloat, AnErrorIsAtMostHalfACodeUnlessSaturated) {
  for (DType dtype : kBlockFloats)
    for (for_tests::Values kind : {for_tests::Values::normal, for_tests::Values::mixed, for_tests::Values::ties}) {
      const int width = magnitude_bits(dtype), largest = (1 << width) - 1;
      const std::vector<float> values = for_tests::adversarial(kind, 16 * 2000, 7);
      for (std::size_t at = 0; at < values.size(); at += 16) {
        const std::span<const float, 16> x(values.data() + at, 16);
        const Block block = encode_block(x, dtype, Rounding::host);
        Floats y;
        decode_block(block, dtype, y);
        if (block.exponent < 16 || block.exponent == 255) continue;  // codes below the normal floats
        const double unit = std::ldexp(1.0, block.exponent - 127 - (width - 1));
        for (std::size_t i = 0; i < 16; ++i) {
          const double error = std::abs(double{x[i]} - double{y[i]});
          // Discarding moves a value by less than 2^-(24 - width) of a code before it is rounded.
          const double bound = (block.codes[i] & largest) == largest ? 1.0 : 0.5 + std::ldexp(1.0, width - 24);
          ASSERT_LE(error, bound * unit) << x[i] << " became " << y[i];
        }
      }
    }
}

TEST(BlockFloat, EncodingWhatWasDecodedChangesNothing) {
  for (DType dtype : kBlockFloats)
    for (for_tests::Values kind : for_tests::kAllValues) {
      const std::vector<float> values = for_tests::adversarial(kind, 16 * 2000, 11);
      for (std::size_t at = 0; at < values.size(); at += 16) {
        const Block block = encode_block(std::span<const float, 16>(values.data() + at, 16), dtype, Rounding::host);
        if (block.exponent < 8 || block.exponent == 255) continue;
        Floats y;
        decode_block(block, dtype, y);
        ASSERT_EQ(encode_block(y, dtype, Rounding::host), block);
        if (dtype == DType::bfloat8_b) {
          ASSERT_EQ(encode_block(y, dtype, Rounding::packer), block);
        }
      }
    }
}

TEST(BlockFloat, RefusesOtherTypes) {
  Floats y;
  EXPECT_THROW(encode_block(Floats{}, DType::float32, Rounding::host), Error);
  EXPECT_THROW(decode_block(Block{}, DType::bfloat16, y), Error);
}

}  // namespace
}  // namespace tessera
