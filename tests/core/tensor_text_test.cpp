#include "tessera/core/tensor_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace tessera {
namespace {

std::string text(const std::vector<float>& values, const Shape& shape, DType dtype = DType::float32, int indent = 0) {
  return values_text(Tensor::from_float32(values, shape, dtype, Layout::row_major), indent);
}

std::vector<float> counting(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(TensorText, AlignsNumbersAndBrackets) {
  EXPECT_EQ(text({1, -2, 3, 4}, {2, 2}), "[[ 1.0000, -2.0000],\n [ 3.0000,  4.0000]]");
  EXPECT_EQ(text({1, 2, 3, 4}, {2, 2}, DType::float32, 3), "[[ 1.0000,  2.0000],\n    [ 3.0000,  4.0000]]");
  EXPECT_EQ(text({1, 2}, {2, 1, 1}), "[[[ 1.0000]],\n\n [[ 2.0000]]]");
  EXPECT_EQ(text({3.5F}, {}), " 3.5000");
  EXPECT_EQ(text({}, {1, 0}), "[[]]");
}

TEST(TensorText, WritesIntegersWithoutDecimals) {
  EXPECT_EQ(text({1, -200000}, {2}, DType::int32), "[    1, -200000]");
  EXPECT_EQ(text({0, 255}, {2}, DType::uint8), "[    0,   255]");
}

TEST(TensorText, SwitchesAllNumbersToExponents) {
  EXPECT_EQ(text({1, 1000}, {2}), "[ 1.0000, 1000.0000]");
  EXPECT_EQ(text({1, 1001}, {2}), "[ 1.0000e+00,  1.0010e+03]");
  EXPECT_EQ(text({1e-5F, 0}, {2}), "[ 1.0000e-05,  0.0000e+00]");
  EXPECT_EQ(text({2e8F}, {1}), "[ 2.0000e+08]");
}

TEST(TensorText, NamesWhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text({std::numeric_limits<float>::quiet_NaN(), inf, -inf}, {3}), "[    nan,     inf,    -inf]");
}

TEST(TensorText, ShowsTheEndsOfLongDimensions) {
  EXPECT_EQ(text(counting(4), {4}), "[ 0.0000,  1.0000,  2.0000,  3.0000]");
  EXPECT_EQ(text(counting(5), {5}), "[ 0.0000,  1.0000,  ...,  3.0000,  4.0000]");
  EXPECT_EQ(text(counting(5), {5, 1}), "[[ 0.0000],\n [ 1.0000],\n ...,\n [ 3.0000],\n [ 4.0000]]");
}

}  // namespace
}  // namespace tessera
