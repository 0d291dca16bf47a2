#include "tessera/graph/ops/normalization.h"

#include "math_testing.h"

#include <limits>

namespace tessera {
namespace {

// 1 2 3 4 has mean 2.5 and variance 1.25.
constexpr double kOuter = 1.341640786, kInner = 0.447213595;

TEST(InstanceNorm, NormalisesEachChannelOfEachSample) {
  const Array x = floats({1, 2, 2}, {1, 3, 10, 30});
  expect_close(first_of(InstanceNorm{.epsilon = 0}, {x, floats({2}, {1, 2}), floats({2}, {0, 5})}), {1, 2, 2},
               {-1, 1, 3, 7});
}

TEST(GroupNorm, ScalesByChannelOrByGroup) {
  const Array x = floats({1, 4, 1}, {1, 3, 10, 30});
  expect_close(
      first_of(GroupNorm{.groups = 2, .epsilon = 0}, {x, floats({4}, {1, 2, 3, 4}), floats({4}, {0, 0, 1, 1})}),
      {1, 4, 1}, {-1, 2, -2, 5});
  expect_close(first_of(GroupNorm{.groups = 2, .epsilon = 0, .per_group_scale = true},
                        {x, floats({2}, {1, 3}), floats({2}, {0, 1})}),
               {1, 4, 1}, {-1, 1, -2, 4});
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivide) {
  const TensorType x(ElementType::float32, Shape{1, 4}), scale(ElementType::float32, Shape{4});
  for (const std::int64_t groups :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_NE(refusal_of(GroupNorm{.groups = groups}, {x, scale, scale}), "") << groups;
  EXPECT_NE(refusal_of(GroupNorm{.groups = 2, .per_group_scale = true}, {x, scale, scale}), "");
}

TEST(LayerNorm, GivesMeanAndInverseDeviationInFloat32) {
  const Array x = array_of<double>({1, 2, 2}, {1, 2, 3, 4}), scale = array_of<double>({2}, {1, 2});
  const std::vector<Array> y =
      run(LayerNorm{.axis = 1, .epsilon = 0, .outputs = 3}, {x, scale, array_of<double>({2, 1}, {0, 1})});
  ASSERT_EQ(y.size(), 3U);
  expect_close(y[0], {1, 2, 2}, {-kOuter, -2 * kInner, kInner + 1, 2 * kOuter + 1});
  expect_close(y[1], {1, 1, 1}, {2.5});
  expect_close(y[2], {1, 1, 1}, {0.894427191});
  EXPECT_EQ(y[1].type(), ElementType::float32);
}

TEST(LayerNorm, NormalisesTheLastAxisWithoutBias) {
  expect_close(first_of(LayerNorm{.epsilon = 0}, {floats({2, 2}, {1, 3, 5, 9}), floats({2}, {1, 1})}), {2, 2},
               {-1, 1, -1, 1});
  EXPECT_NE(refusal_of(LayerNorm{}, {{ElementType::float32, Shape{2, 2}}, {ElementType::float32, Shape{3}}}), "");
  EXPECT_NE(refusal_of(LayerNorm{.axis = 2}, {{ElementType::float32, Shape{2, 2}}, {ElementType::float32, Shape{2}}}),
            "");
}

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  expect_close(first_of(RmsNorm{.epsilon = 0}, {floats({1, 2}, {1, 7}), floats({2}, {1, 10})}), {1, 2}, {0.2, 14});
}

TEST(LpNorm, LeavesZerosAlone) {
  const Array x = floats({2, 2}, {3, 0, 4, 0});
  expect_close(first_of(LpNorm{.axis = 0}, {x}), {2, 2}, {0.6, 0, 0.8, 0});
  expect_close(first_of(LpNorm{.axis = 0, .p = 1}, {x}), {2, 2}, {3.0 / 7, 0, 4.0 / 7, 0});
  EXPECT_NE(refusal_of(LpNorm{.p = 3}, {{ElementType::float32, Shape{2}}}), "");
}

TEST(Lrn, SumsSquaresOverNeighbouringChannels) {
  // Even sizes reach one further up than down.
  const Array x = floats({1, 3, 1}, {1, 2, 3});
  expect_close(first_of(Lrn{.size = 2, .alpha = 2, .beta = 1, .bias = 1}, {x}), {1, 3, 1},
               {1.0 / 6, 2.0 / 14, 3.0 / 10});
  expect_close(first_of(Lrn{.size = std::numeric_limits<std::int64_t>::max(), .alpha = 0, .beta = 1, .bias = 1}, {x}),
               {1, 3, 1}, {1, 2, 3});
  EXPECT_NE(refusal_of(Lrn{.size = 0}, {{ElementType::float32, Shape{1, 3}}}), "");
}

TEST(MeanVarianceNorm, PoolsTheAxesItIsGiven) {
  const Array x = floats({2, 2}, {1, 10, 3, 30});
  expect_close(first_of(MeanVarianceNorm{.axes = {0}}, {x}), {2, 2}, {-1, -1, 1, 1});
  EXPECT_NE(refusal_of(MeanVarianceNorm{}, {{ElementType::float32, Shape{2, 2}}}), "");
}

}  // namespace
}  // namespace tessera
