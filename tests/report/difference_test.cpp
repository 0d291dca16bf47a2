#include "tessera/report/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Array floats(std::vector<float> values) {
  return Array::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

TEST(Difference, IsMeasuredAgainstTheLargestMagnitudeExpected) {
  const Difference d = difference(floats({1, 2, 3.5f}), floats({1, -4, 3}));
  EXPECT_TRUE(d.same_form);
  EXPECT_EQ(d.max_abs, 6);
  EXPECT_EQ(d.max_relative, 1.5);
  EXPECT_EQ(d.worst, 1);
  EXPECT_EQ(d.found, 2);
  EXPECT_EQ(d.expected, -4);
  EXPECT_FALSE(d.within(1.4));
  EXPECT_TRUE(d.within(1.5));
}

TEST(Difference, NaNAndInfinityAgreeOnlyWithThemselves) {
  EXPECT_TRUE(difference(floats({kNaN, kInfinity, -kInfinity}), floats({kNaN, kInfinity, -kInfinity})).within(0));
  EXPECT_FALSE(difference(floats({kNaN, 1}), floats({1, 1})).within(1e30));
  EXPECT_FALSE(difference(floats({1, 1}), floats({kNaN, 1})).within(1e30));
  EXPECT_FALSE(difference(floats({kInfinity}), floats({-kInfinity})).within(1e30));
  EXPECT_FALSE(difference(floats({1}), floats({kInfinity})).within(1e30));
}

TEST(Difference, ZerosAreExpectedExactly) {
  EXPECT_TRUE(difference(floats({0, -0.0f}), floats({0, 0})).within(0));
  EXPECT_FALSE(difference(floats({0, 1e-30f}), floats({0, 0})).within(1e30));
}

TEST(Difference, OtherTypesAndShapesNeverAgree) {
  EXPECT_FALSE(difference(floats({1, 2}), floats({1, 2, 3})).within(1e30));
  EXPECT_FALSE(difference(floats({1}), Array::of<double>(Shape{1}, std::vector<double>{1})).within(1e30));
}

TEST(Difference, CorrelationIsThatOfPearson) {
  EXPECT_NEAR(*difference(floats({1, 2, 3}), floats({2, 4, 6})).pcc, 1, 1e-15);
  EXPECT_NEAR(*difference(floats({1, 2, 3}), floats({3, 2, 1})).pcc, -1, 1e-15);
  EXPECT_FALSE(difference(floats({1, 1}), floats({1, 1})).pcc.has_value());
}

}  // namespace
}  // namespace tessera
