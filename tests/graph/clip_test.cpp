#include "tessera/graph/ops/clip.h"

#include "math_testing.h"
#include "tessera/graph/ops/dropout.h"
#include "tessera/graph/ops/where.h"

#include <limits>

namespace tessera {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Clip, TakesEitherBoundOrNone) {
  const Array x = floats({4}, {-5, 0, 5, kNan}), low = floats({}, {-1}), high = floats({}, {2});
  expect_values<float>(first_of(Clip{}, {x, low, high}), {4}, {-1, 0, 2, kNan});
  expect_values<float>(first_of(Clip{}, {x, std::nullopt, high}), {4}, {-5, 0, 2, kNan});
  expect_values<float>(first_of(Clip{}, {x, low}), {4}, {-1, 0, 5, kNan});
  expect_values<float>(first_of(Clip{}, {x}), {4}, {-5, 0, 5, kNan});
}

TEST(Clip, GivesTheUpperBoundWhereTheLowerIsAboveIt) {
  expect_values<std::int8_t>(first_of(Clip{}, {array_of<std::int8_t>({3}, {-5, 3, 5}), array_of<std::int8_t>({}, {4}),
                                               array_of<std::int8_t>({}, {1})}),
                             {3}, {1, 1, 1});
}

TEST(Clip, RefusesBoundsThatAreNoScalars) {
  const TensorType x(ElementType::float32, Shape{4});
  EXPECT_NE(refusal_of(Clip{}, {x, {ElementType::float32, Shape{2}}}), "");
  EXPECT_NE(refusal_of(Clip{}, {x, {ElementType::float64, Shape{}}}), "");
}

TEST(Where, BroadcastsAllThree) {
  const Array condition = array_of<bool>({2, 1}, {true, false});
  const Array y =
      first_of(Where{}, {condition, array_of<std::int64_t>({}, {7}), array_of<std::int64_t>({3}, {1, 2, 3})});
  expect_values<std::int64_t>(y, {2, 3}, {7, 7, 7, 1, 2, 3});
}

TEST(Where, RefusesOtherConditionsAndMixedTypes) {
  const TensorType x(ElementType::float32, Shape{4});
  EXPECT_NE(refusal_of(Where{}, {x, x, x}), "");
  EXPECT_NE(refusal_of(Where{}, {{ElementType::boolean, Shape{4}}, x, {ElementType::int32, Shape{4}}}), "");
  EXPECT_NE(refusal_of(Where{}, {{ElementType::boolean, Shape{3}}, x, x}), "");
}

TEST(Dropout, PassesAndMasksNothing) {
  const Array x = floats({2}, {1, 2});
  const std::vector<Array> y = run(Dropout{.outputs = 2}, {x, floats({}, {0.7f})});
  expect_values<float>(y.at(0), {2}, {1, 2});
  EXPECT_EQ(y.at(1).to_double(), (std::vector<double>{1, 1}));
}

// The draws of seed 0 are those of NumPy's legacy generator: 0.5488 0.7152 0.6028 0.5449 0.4237 0.6459.
TEST(Dropout, DropsInTrainingWhatTheSeedSays) {
  const Array x = floats({6}, {1, 2, 3, 4, 5, 6}), training = array_of<bool>({}, {true});
  expect_values<float>(first_of(Dropout{}, {x, floats({}, {0}), training}), {6}, {1, 2, 3, 4, 5, 6});
  expect_values<float>(first_of(Dropout{}, {x, std::nullopt, training}), {6}, {2, 4, 6, 8, 0, 12});
  const std::vector<Array> some = run(Dropout{.outputs = 2}, {x, floats({}, {0.6f}), training});
  EXPECT_EQ(some[1].to_double(), (std::vector<double>{0, 1, 1, 0, 0, 1}));
  EXPECT_THROW(run(Dropout{}, {x, floats({}, {1}), training}), Error);
  EXPECT_THROW(run(Dropout{}, {x, floats({}, {-0.5f}), training}), Error);
}

}  // namespace
}  // namespace tessera
