#include "tessera/graph/ops/softmax.h"

#include "math_testing.h"

#include <limits>

namespace tessera {
namespace {

TEST(Softmax, StaysFiniteForLargeInputs) {
  const Array x = floats({2, 4}, {0, 1, 2, 3, 10000, 10001, 10002, 10003});
  const std::vector<double> row{0.032058603, 0.08714432, 0.23688282, 0.64391426};
  std::vector<double> wanted = row;
  wanted.insert(wanted.end(), row.begin(), row.end());
  expect_close(first_of(Softmax{}, {x}), {2, 4}, wanted);
  for (double& v : wanted) v = std::log(v);
  expect_close(first_of(Softmax{.log = true}, {x}), {2, 4}, wanted);
}

TEST(Softmax, WorksAlongAnyAxis) {
  const Array x = floats({2, 1, 2}, {0, 5, std::log(3.0f), 5});
  expect_close(first_of(Softmax{.axis = 0}, {x}), {2, 1, 2}, {0.25, 0.5, 0.75, 0.5});
  expect_close(first_of(Softmax{.axis = -3}, {x}), {2, 1, 2}, {0.25, 0.5, 0.75, 0.5});
}

TEST(Softmax, TakesAllFromTheAxisOnAsOneRowIfFlattened) {
  expect_close(first_of(Softmax{.axis = 1, .flatten = true}, {floats({2, 2, 2}, {0, 0, 0, 0, 1, 1, 1, 1})}), {2, 2, 2},
               std::vector<double>(8, 0.25));
  expect_close(first_of(Softmax{.axis = 0, .flatten = true}, {floats({2, 2}, {0, 0, 0, 0})}), {2, 2},
               std::vector<double>(4, 0.25));
}

TEST(Softmax, GivesNanForNanAndForNothingButMinusInfinity) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  expect_values<float>(first_of(Softmax{}, {floats({3, 2}, {kNan, 1, -kInf, -kInf, -kInf, 0})}), {3, 2},
                       {kNan, kNan, kNan, kNan, 0, 1});
}

TEST(Softmax, KeepsEmptyTensorsAndRefusesAxesOutside) {
  EXPECT_EQ(first_of(Softmax{}, {Array(ElementType::float16, {3, 0})}).shape(), (Shape{3, 0}));
  EXPECT_NE(refusal_of(Softmax{.axis = 2}, {{ElementType::float32, Shape{2, 2}}}), "");
  EXPECT_NE(refusal_of(Softmax{}, {{ElementType::int32, Shape{2, 2}}}), "");
}

}  // namespace
}  // namespace tessera
