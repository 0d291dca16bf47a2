#include "tessera/graph/ops/unary.h"

#include "math_testing.h"

#include <limits>

namespace tessera {
namespace {

using Kind = Unary::Kind;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Array unary(Kind kind, const Array& x, float alpha = 0, float beta = 0) {
  return first_of(Unary{kind, alpha, beta}, {x});
}

TEST(Unary, RoundsHalvesToEven) {
  expect_values<float>(unary(Kind::round, floats({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.6f})), {6},
                       {0, 2, 2, -0.0f, -2, 3});
}

TEST(Unary, TellsExactFromTanhGelu) {
  const Array x = floats({3}, {-1, 0, 1});
  expect_close(unary(Kind::gelu, x), {3}, {-0.158655254, 0, 0.841344746});
  expect_close(unary(Kind::gelu_tanh, x), {3}, {-0.158808009, 0, 0.841191991});
}

TEST(Unary, UsesAlphaAndBetaOfItsKind) {
  const Array x = floats({4}, {-4, -0.5f, 0.5f, 4});
  expect_close(unary(Kind::hard_sigmoid, x, 0.5f, 0.6f), {4}, {0, 0.35, 0.85, 1});
  expect_close(unary(Kind::leaky_relu, x, 0.1f), {4}, {-0.4, -0.05, 0.5, 4});
  expect_close(unary(Kind::elu, x, 2), {4}, {-1.963368722, -0.786938681, 0.5, 4});
  expect_close(unary(Kind::celu, x, 2), {4}, {-1.729329434, -0.442398434, 0.5, 4});
  expect_close(unary(Kind::selu, x, 2, 3), {4}, {-5.890106167, -2.360816042, 1.5, 12});
  expect_close(unary(Kind::shrink, x, 1, 0.5f), {4}, {-3.5, 0, 0, 3.5});
  expect_close(unary(Kind::thresholded_relu, x, 1), {4}, {0, 0, 0, 4});
  expect_close(unary(Kind::hard_swish, x), {4}, {0, -0.208333333, 0.291666667, 4});
}

TEST(Unary, SiluWithoutAlphaIsPlain) {
  expect_close(unary(Kind::silu, floats({2}, {1, -2})), {2}, {0.731058579, -0.238405844});
  expect_close(unary(Kind::silu, floats({2}, {1, -2}), 2), {2}, {0.880797078, -0.035972420});
}

TEST(Unary, StaysFiniteFarOut) {
  const Array x = floats({2}, {-1000, 1000});
  expect_values<float>(unary(Kind::softplus, x), {2}, {0, 1000});
  expect_values<float>(unary(Kind::sigmoid, x), {2}, {0, 1});
  expect_values<float>(unary(Kind::mish, x), {2}, {-0.0f, 1000});
}

TEST(Unary, PassesNanOn) {
  for (const Kind kind : {Kind::relu, Kind::sign, Kind::hard_sigmoid, Kind::leaky_relu, Kind::elu, Kind::celu,
                          Kind::shrink, Kind::softplus, Kind::abs, Kind::round, Kind::hard_swish})
    expect_values<float>(unary(kind, floats({1}, {kNan}), 1, 1), {1}, {kNan});
}

TEST(Unary, WhatIsNotAboveTheThresholdIsZero) {
  expect_values<float>(unary(Kind::thresholded_relu, floats({4}, {kNan, kInf, -kInf, 1}), 1), {4}, {0, kInf, 0, 0});
}

TEST(Unary, WorksOnIntegersAndWraps) {
  const Array x = array_of<std::int8_t>({4}, {-128, -3, 0, 127});
  expect_values<std::int8_t>(unary(Kind::abs, x), {4}, {-128, 3, 0, 127});
  expect_values<std::int8_t>(unary(Kind::neg, x), {4}, {-128, 3, 0, -127});
  expect_values<std::int8_t>(unary(Kind::sign, x), {4}, {-1, -1, 0, 1});
  expect_values<std::int8_t>(unary(Kind::relu, x), {4}, {0, 0, 0, 127});
  expect_values<std::int8_t>(unary(Kind::bitwise_not, x), {4}, {127, 2, -1, -128});
  expect_values<std::uint64_t>(unary(Kind::sign, array_of<std::uint64_t>({2}, {0, ~0ULL})), {2}, {0, 1});
}

TEST(Unary, TellsInfinitiesBySign) {
  const Array x = floats({4}, {kInf, -kInf, kNan, 1});
  const auto flags = [](const Array& y) { return y.to_double(); };
  EXPECT_EQ(flags(unary(Kind::is_inf, x, 1, 1)), (std::vector<double>{1, 1, 0, 0}));
  EXPECT_EQ(flags(unary(Kind::is_inf, x, 1, 0)), (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(flags(unary(Kind::is_inf, x, 0, 1)), (std::vector<double>{1, 0, 0, 0}));
  EXPECT_EQ(flags(unary(Kind::is_nan, x)), (std::vector<double>{0, 0, 1, 0}));
}

TEST(Unary, RoundsOnceToSixteenBits) {
  const Array y = unary(Kind::reciprocal, array_of<Float16>({2}, {Float16(3.0f), Float16(0.0f)}));
  EXPECT_EQ(y.as<Float16>()[0].bits, 0x3555);
  EXPECT_EQ(y.as<Float16>()[1].bits, 0x7C00);
}

TEST(Unary, KeepsEmptyAndScalarShapes) {
  EXPECT_EQ(unary(Kind::exp, Array(ElementType::float32, {2, 0, 3})).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(unary(Kind::identity, Array(ElementType::float8_e4m3, Shape{})).type(), ElementType::float8_e4m3);
}

TEST(Unary, RefusesTypesWithoutMeaning) {
  EXPECT_NE(refusal_of(Unary{Kind::exp}, {{ElementType::int32, Shape{1}}}), "");
  EXPECT_NE(refusal_of(Unary{Kind::abs}, {{ElementType::boolean, Shape{1}}}), "");
  EXPECT_NE(refusal_of(Unary{Kind::logical_not}, {{ElementType::uint8, Shape{1}}}), "");
  EXPECT_NE(refusal_of(Unary{Kind::bitwise_not}, {{ElementType::float32, Shape{1}}}), "");
  EXPECT_NE(refusal_of(Unary{Kind::exp}, {}), "");
}

}  // namespace
}  // namespace tessera
