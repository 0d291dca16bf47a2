#include "tessera/graph/ops/reduce.h"

#include "math_testing.h"

#include <limits>

namespace tessera {
namespace {

using Kind = Reduce::Kind;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Array& cube() {
  static const Array x = floats({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return x;
}

Array reduce(Kind kind, const Array& x, std::vector<std::int64_t> axes = {}, bool keep_dims = true) {
  return first_of(Reduce{.kind = kind, .axes = std::move(axes), .keep_dims = keep_dims}, {x});
}

TEST(Reduce, TakesAxesFromTheAttributeOrTheInput) {
  expect_values<float>(reduce(Kind::sum, cube(), {1}), {2, 1, 3}, {5, 7, 9, 17, 19, 21});
  expect_values<float>(reduce(Kind::sum, cube(), {0, -1}, false), {2}, {30, 48});
  const Array axes = array_of<std::int64_t>({2}, {0, -1});
  expect_values<float>(first_of(Reduce{.kind = Kind::sum, .axes = {}, .keep_dims = false}, {cube(), axes}), {2},
                       {30, 48});
  expect_values<float>(first_of(Reduce{.kind = Kind::sum, .axes = {}}, {cube(), axes}), {1, 2, 1}, {30, 48});
}

TEST(Reduce, TakesNoAxesForAllOrForNone) {
  expect_values<float>(reduce(Kind::sum, cube(), {}, false), {}, {78});
  const Array none(ElementType::int64, Shape{0});
  expect_values<float>(first_of(Reduce{.kind = Kind::sum, .axes = {}}, {cube(), none}), {1, 1, 1}, {78});
  expect_values<float>(
      first_of(Reduce{.kind = Kind::sum, .axes = {}, .no_axes_means_none = true}, {floats({2}, {-1, 2}), none}), {2},
      {-1, 2});
  // What is done to each element is done all the same.
  expect_values<float>(
      first_of(Reduce{.kind = Kind::sum_square, .axes = {}, .no_axes_means_none = true}, {floats({2}, {-3, 2})}), {2},
      {9, 4});
  expect_values<float>(reduce(Kind::sum, floats({}, {4})), {}, {4});
}

TEST(Reduce, ComputesEveryKind) {
  const Array x = floats({1, 4}, {1, -2, 3, 4});
  expect_close(reduce(Kind::mean, x), {1, 1}, {1.5});
  expect_close(reduce(Kind::max, x), {1, 1}, {4});
  expect_close(reduce(Kind::min, x), {1, 1}, {-2});
  expect_close(reduce(Kind::prod, x), {1, 1}, {-24});
  expect_close(reduce(Kind::l1, x), {1, 1}, {10});
  expect_close(reduce(Kind::l2, x), {1, 1}, {5.477225575});
  expect_close(reduce(Kind::sum_square, x), {1, 1}, {30});
  expect_close(reduce(Kind::log_sum, x), {1, 1}, {1.791759469});
  expect_close(reduce(Kind::log_sum_exp, x), {1, 1}, {4.350759163});
}

TEST(Reduce, GivesIdentitiesForNothing) {
  const Array nothing(ElementType::float32, {2, 0});
  const auto of = [&](Kind kind) { return reduce(kind, nothing, {1}, false); };
  expect_values<float>(of(Kind::sum), {2}, {0, 0});
  expect_values<float>(of(Kind::prod), {2}, {1, 1});
  expect_values<float>(of(Kind::max), {2}, {-kInf, -kInf});
  expect_values<float>(of(Kind::min), {2}, {kInf, kInf});
  expect_values<float>(of(Kind::log_sum), {2}, {-kInf, -kInf});
  expect_values<float>(of(Kind::log_sum_exp), {2}, {-kInf, -kInf});
  expect_values<float>(of(Kind::mean), {2}, {kNan, kNan});
  expect_values<std::int8_t>(reduce(Kind::max, Array(ElementType::int8, {0})), {1}, {-128});
  expect_values<std::int32_t>(reduce(Kind::mean, Array(ElementType::int32, {0})), {1}, {0});
  EXPECT_EQ(reduce(Kind::sum, nothing, {0}).shape(), (Shape{1, 0}));
}

TEST(Reduce, KeepsLogSumExpFromOverflowing) {
  expect_close(reduce(Kind::log_sum_exp, floats({2}, {1000, 1000})), {1}, {1000.693147}, 1e-4);
  expect_values<float>(reduce(Kind::log_sum_exp, floats({2}, {-kInf, -kInf})), {1}, {-kInf});
  expect_values<float>(reduce(Kind::log_sum_exp, floats({2}, {kInf, 1})), {1}, {kInf});
  expect_values<float>(reduce(Kind::log_sum_exp, floats({2}, {kNan, 1})), {1}, {kNan});
}

TEST(Reduce, HandlesIntegersExactly) {
  expect_values<std::int64_t>(reduce(Kind::sum, array_of<std::int64_t>({2}, {9007199254740993, 1})), {1},
                              {9007199254740994});
  expect_values<std::int32_t>(reduce(Kind::mean, array_of<std::int32_t>({2}, {-3, -4})), {1}, {-3});
  expect_values<std::int32_t>(reduce(Kind::l1, array_of<std::int32_t>({2}, {-3, 4})), {1}, {7});
  expect_values<std::int32_t>(reduce(Kind::l2, array_of<std::int32_t>({2}, {-3, 4})), {1}, {5});
  expect_values<std::uint64_t>(reduce(Kind::max, array_of<std::uint64_t>({2}, {1, ~0ULL})), {1}, {~0ULL});
}

TEST(Reduce, PassesNanThroughMaxAndTakesBools) {
  expect_values<float>(reduce(Kind::max, floats({3}, {1, kNan, 2})), {1}, {kNan});
  expect_values<float>(reduce(Kind::min, floats({3}, {1, kNan, 2})), {1}, {kNan});
  const Array flags = array_of<bool>({2, 2}, {true, false, true, true});
  EXPECT_EQ(reduce(Kind::max, flags, {1}).to_double(), (std::vector<double>{1, 1}));
  EXPECT_EQ(reduce(Kind::min, flags, {1}).to_double(), (std::vector<double>{0, 1}));
}

TEST(Reduce, InfersWhatItCan) {
  const TensorType x(ElementType::float32, std::vector<std::int64_t>{-1, 1, 3}), axes(ElementType::int64, Shape{1});
  EXPECT_EQ(inferred_from(Reduce{}, {x, axes})[0].to_string(), "float32[?, 1, ?]");
  EXPECT_EQ(inferred_from(Reduce{.axes = {}, .keep_dims = false}, {x, axes})[0].to_string(), "float32[...]");
  EXPECT_EQ(inferred_from(Reduce{.axes = {2}}, {x})[0].to_string(), "float32[?, 1, 1]");
}

TEST(Reduce, RefusesAxesOutsideAndTypesWithoutMeaning) {
  EXPECT_NE(refusal_of(Reduce{.axes = {3}}, {{ElementType::float32, Shape{2, 2}}}), "");
  EXPECT_NE(
      refusal_of(Reduce{.axes = {std::numeric_limits<std::int64_t>::lowest()}}, {{ElementType::float32, Shape{2, 2}}}),
      "");
  EXPECT_NE(refusal_of(Reduce{}, {{ElementType::boolean, Shape{2}}}), "");
  EXPECT_NE(refusal_of(Reduce{}, {{ElementType::float32, Shape{2}}, {ElementType::float32, Shape{1}}}), "");
}

TEST(ArgReduce, ChoosesTheFirstOrTheLastOfEquals) {
  const Array x = floats({2, 3}, {2, 2, 1, 3, 10, 10});
  expect_values<std::int64_t>(first_of(ArgReduce{.axis = 1}, {x}), {2, 1}, {0, 1});
  expect_values<std::int64_t>(first_of(ArgReduce{.axis = -1, .keep_dims = false, .last_index = true}, {x}), {2},
                              {1, 2});
  expect_values<std::int64_t>(first_of(ArgReduce{.min = true, .axis = 0, .keep_dims = false}, {x}), {3}, {0, 0, 0});
  expect_values<std::int64_t>(first_of(ArgReduce{.axis = 0}, {floats({3}, {1, kNan, 5})}), {1}, {1});
}

TEST(ArgReduce, RefusesToChooseFromNothing) {
  EXPECT_NE(refusal_of(ArgReduce{.axis = 1}, {{ElementType::float32, Shape{2, 0}}}), "");
  EXPECT_EQ(first_of(ArgReduce{.axis = 1}, {Array(ElementType::float32, {0, 2})}).shape(), (Shape{0, 1}));
}

}  // namespace
}  // namespace tessera
