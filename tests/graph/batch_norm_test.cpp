#include "tessera/graph/ops/batch_norm.h"

#include "math_testing.h"

namespace tessera {
namespace {

TEST(BatchNorm, UsesTheGivenStatistics) {
  const Array x = floats({1, 2, 2}, {1, 3, 10, 20});
  const Array y = first_of(BatchNorm{.epsilon = 0}, {x, floats({2}, {2, 1}), floats({2}, {0.5f, 0}),
                                                     floats({2}, {1, 10}), floats({2}, {4, 25})});
  expect_close(y, {1, 2, 2}, {0.5, 2.5, 0, 2});
}

TEST(BatchNorm, TrainsOnTheStatisticsOfTheBatch) {
  const Array x = floats({2, 1, 2}, {1, 3, 5, 7});  // mean 4, variance 5
  const std::vector<Array> y = run(BatchNorm{.epsilon = 0, .momentum = 0.75f, .training = true},
                                   {x, floats({1}, {1}), floats({1}, {1}), floats({1}, {8}), floats({1}, {1})});
  ASSERT_EQ(y.size(), 3U);
  expect_close(y[0], {2, 1, 2}, {-0.341640786, 0.552786405, 1.447213595, 2.341640786});
  expect_close(y[1], {1}, {7});
  expect_close(y[2], {1}, {2});
}

TEST(BatchNorm, MixesFloatingTypesAndTakesVectors) {
  const Array x = array_of<Float16>({2}, {Float16(1.0f), Float16(2.0f)}), one = floats({1}, {1}),
              zero = floats({1}, {0});
  const Array y = first_of(BatchNorm{.epsilon = 0}, {x, one, zero, zero, floats({1}, {4})});
  EXPECT_EQ(y.type(), ElementType::float16);
  expect_close(y, {2}, {0.5, 1});
}

TEST(BatchNorm, RefusesStatisticsOfOtherLength) {
  const TensorType x(ElementType::float32, Shape{1, 2, 2}), two(ElementType::float32, Shape{2}),
      three(ElementType::float32, Shape{3});
  EXPECT_EQ(refusal_of(BatchNorm{}, {x, two, two, two, two}), "");
  EXPECT_NE(refusal_of(BatchNorm{}, {x, two, two, three, two}), "");
  EXPECT_NE(refusal_of(BatchNorm{}, {x, two, two, two}), "");
}

}  // namespace
}  // namespace tessera
