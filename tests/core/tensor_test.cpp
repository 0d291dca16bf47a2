#include "tessera/core/tensor.h"

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace tessera {
namespace {

std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = normal(rng);
  return values;
}

TEST(Tensor, ComesBackExactlyWhereTheDtypeHoldsTheValues) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 33}, Shape{2, 3, 17, 45}, Shape{2, 0, 4}})
    for (Layout layout : {Layout::row_major, Layout::tile}) {
      const std::vector<float> values = random_values(shape.volume(), 1);
      EXPECT_EQ(Tensor::from_float32(values, shape, DType::float32, layout).to_float32(), values) << shape.to_string();
    }
}

TEST(Tensor, EachMatrixIsPaddedOnItsOwn) {
  const Tensor t({2, 3, 17, 45}, DType::bfloat16, Layout::tile);
  EXPECT_EQ(t.padded_shape(), (Shape{2, 3, 32, 64}));
  EXPECT_EQ(t.bytes().size(), 2u * 3 * 2 * 2048);
  EXPECT_EQ(Tensor({7}, DType::bfloat8_b, Layout::tile).padded_shape(), (Shape{32, 32}));
  EXPECT_EQ(Tensor({7}, DType::bfloat16, Layout::row_major).padded_shape(), (Shape{7}));
}

// A value of a block is off by half a step of its block at most: 2^(E - 127 - bits) with E the largest exponent.
TEST(Tensor, BlockFloatsAreOffByHalfAStepAtMost) {
  const Shape shape{64, 96};
  const std::vector<float> values = random_values(shape.volume(), 2);
  for (DType dtype : {DType::bfloat8_b, DType::bfloat4_b}) {
    const std::vector<float> back = Tensor::from_float32(values, shape, dtype, Layout::tile).to_float32();
    const int bits = dtype == DType::bfloat8_b ? 7 : 3;
    for (std::size_t block = 0; block < values.size(); block += 16) {
      float largest = 0;
      for (std::size_t i = block; i < block + 16; ++i) largest = std::max(largest, std::fabs(values[i]));
      const float step = std::ldexp(1.0f, std::ilogb(largest) + 1 - bits);
      for (std::size_t i = block; i < block + 16; ++i)
        EXPECT_LE(std::fabs(back[i] - values[i]), step)
            << name(dtype) << " element " << i;  // saturation costs up to a whole step
    }
  }
}

TEST(Tensor, LayoutChangesKeepTheBits) {
  std::mt19937_64 rng(3);
  for (DType dtype : {DType::float32, DType::bfloat16, DType::uint8, DType::int32}) {
    Tensor t({3, 40, 70}, dtype, Layout::row_major);
    for (std::byte& b : t.bytes()) b = static_cast<std::byte>(rng());
    for (const Tile& tile : all_tiles()) {
      const Tensor back = to_layout(to_layout(t, Layout::tile, tile), Layout::row_major);
      EXPECT_TRUE(std::equal(t.bytes().begin(), t.bytes().end(), back.bytes().begin(), back.bytes().end()))
          << tile.to_string();
    }
  }
}

TEST(Tensor, IntegersDoNotPassThroughFloats) {
  const std::vector<std::uint32_t> values{16777217, 4294967295u, 0, 7};
  const Tensor t =
      Tensor::from_elements(std::as_bytes(std::span(values)), DType::uint32, Shape{2, 2}, DType::uint32, Layout::tile);
  const Bytes back = t.to_elements(DType::uint32);
  EXPECT_EQ(std::memcmp(back.data(), values.data(), back.size()), 0);
}

TEST(Tensor, RefusesWhatCannotExist) {
  EXPECT_THROW(Tensor({32, 32}, DType::bfloat8_b, Layout::row_major), Error);
  EXPECT_THROW(Tensor({32, 32}, DType::bfloat16, Layout::row_major, {16, 32}), Error);
  EXPECT_THROW(Tensor({32, 32}, DType::bfloat16, Layout::tile, {5, 32}), Error);
  EXPECT_THROW(Tensor::from_float32(random_values(3, 1), {2, 2}, DType::float32, Layout::row_major), Error);
}

}  // namespace
}  // namespace tessera
