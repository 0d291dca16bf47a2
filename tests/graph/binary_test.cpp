#include "tessera/graph/ops/binary.h"

#include "math_testing.h"

#include <limits>

namespace tessera {
namespace {

using Kind = Binary::Kind;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Array binary(Kind kind, const Array& a, const Array& b) { return first_of(Binary{kind}, {a, b}); }

template <class T>
Array vector_of(std::initializer_list<T> values) {
  return array_of<T>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(Binary, BroadcastsBothWays) {
  const Array y = binary(Kind::sub, floats({2, 1, 2}, {1, 2, 3, 4}), floats({3, 1}, {10, 20, 30}));
  expect_values<float>(y, {2, 3, 2}, {-9, -8, -19, -18, -29, -28, -7, -6, -17, -16, -27, -26});
  EXPECT_EQ(binary(Kind::add, Array(ElementType::float32, {3, 0}), floats({1}, {1})).shape(), (Shape{3, 0}));
  expect_values<float>(binary(Kind::mul, floats({}, {3}), floats({}, {4})), {}, {12});
}

TEST(Binary, DividesIntegersTowardsZeroAndWraps) {
  expect_values<std::int32_t>(
      binary(Kind::div, vector_of<std::int32_t>({-7, 7, std::numeric_limits<std::int32_t>::lowest()}),
             vector_of<std::int32_t>({2, -2, -1})),
      {3}, {-3, -3, std::numeric_limits<std::int32_t>::lowest()});
  expect_values<std::uint8_t>(binary(Kind::add, vector_of<std::uint8_t>({200}), vector_of<std::uint8_t>({100})), {1},
                              {44});
  expect_values<std::uint16_t>(binary(Kind::mul, vector_of<std::uint16_t>({65535}), vector_of<std::uint16_t>({65535})),
                               {1}, {1});
  EXPECT_THROW(binary(Kind::div, vector_of<std::int64_t>({1}), vector_of<std::int64_t>({0})), Error);
  EXPECT_THROW(binary(Kind::mod, vector_of<std::int64_t>({1}), vector_of<std::int64_t>({0})), Error);
}

TEST(Binary, GivesModTheSignOfTheDivisorAndFmodThatOfTheDividend) {
  const Array a = vector_of<std::int64_t>({-4, 7, 5, 4, -7, 8}), b = vector_of<std::int64_t>({2, -3, 8, -2, 3, 5});
  expect_values<std::int64_t>(binary(Kind::mod, a, b), {6}, {0, -2, 5, 0, 2, 3});
  expect_values<std::int64_t>(binary(Kind::fmod, a, b), {6}, {0, 1, 5, 0, -1, 3});
  expect_close(binary(Kind::fmod, floats({2}, {-4.3f, 5.5f}), floats({2}, {2.1f, kInf})), {2}, {-0.1, 5.5});
}

TEST(Binary, RaisesToPowersOfOtherTypes) {
  expect_values<float>(binary(Kind::pow, floats({3}, {1, 2, 3}), vector_of<std::int64_t>({4, 5, 6})), {3},
                       {1, 32, 729});
  expect_values<std::int64_t>(binary(Kind::pow, vector_of<std::int64_t>({1, 2, 3}), floats({3}, {4, 0.5f, 6})), {3},
                              {1, 1, 729});
  expect_values<std::int32_t>(
      binary(Kind::pow, vector_of<std::int32_t>({2, -1, 2}), vector_of<std::int32_t>({-1, -3, 31})), {3},
      {0, -1, std::numeric_limits<std::int32_t>::lowest()});
  // Exact beyond what double holds.
  expect_values<std::int64_t>(binary(Kind::pow, vector_of<std::int64_t>({3}), vector_of<std::uint8_t>({39})), {1},
                              {4052555153018976267});
}

TEST(Binary, PassesNanThroughMinAndMax) {
  const Array a = floats({3}, {kNan, 1, 2}), b = floats({3}, {1, kNan, 3});
  expect_values<float>(binary(Kind::min, a, b), {3}, {kNan, kNan, 2});
  expect_values<float>(binary(Kind::max, a, b), {3}, {kNan, kNan, 3});
}

TEST(Binary, ComparesToBool) {
  const Array a = floats({3}, {1, 2, kNan}), b = floats({3}, {2, 2, kNan});
  EXPECT_EQ(binary(Kind::equal, a, b).to_double(), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(binary(Kind::less, a, b).to_double(), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(binary(Kind::less_equal, a, b).to_double(), (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(binary(Kind::greater, a, b).to_double(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(binary(Kind::greater_equal, a, b).type(), ElementType::boolean);
  // Neighbours that are one number in double.
  EXPECT_EQ(
      binary(Kind::equal, vector_of<std::int64_t>({9007199254740993}), vector_of<std::int64_t>({9007199254740992}))
          .to_double(),
      std::vector<double>{0});
}

TEST(Binary, CombinesBoolsAndBits) {
  const Array p = array_of<bool>({4}, {false, false, true, true}), q = array_of<bool>({4}, {false, true, false, true});
  EXPECT_EQ(binary(Kind::logical_and, p, q).to_double(), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(binary(Kind::logical_or, p, q).to_double(), (std::vector<double>{0, 1, 1, 1}));
  EXPECT_EQ(binary(Kind::logical_xor, p, q).to_double(), (std::vector<double>{0, 1, 1, 0}));
  const Array a = vector_of<std::int16_t>({12}), b = vector_of<std::int16_t>({-6});
  expect_values<std::int16_t>(binary(Kind::bit_and, a, b), {1}, {8});
  expect_values<std::int16_t>(binary(Kind::bit_or, a, b), {1}, {-2});
  expect_values<std::int16_t>(binary(Kind::bit_xor, a, b), {1}, {-10});
}

TEST(Binary, ShiftsZerosInHoweverFar) {
  const Array a = vector_of<std::uint8_t>({129, 129, 129}), by = vector_of<std::uint8_t>({1, 8, 200});
  expect_values<std::uint8_t>(binary(Kind::shift_left, a, by), {3}, {2, 0, 0});
  expect_values<std::uint8_t>(binary(Kind::shift_right, a, by), {3}, {64, 0, 0});
}

TEST(Binary, RepeatsPreluSlopesButNotItsInput) {
  expect_values<float>(binary(Kind::prelu, floats({2, 2}, {-1, 2, -3, -4}), floats({2}, {10, 100})), {2, 2},
                       {-10, 2, -30, -400});
  EXPECT_NE(refusal_of(Binary{Kind::prelu}, {{ElementType::float32, Shape{2}}, {ElementType::float32, Shape{2, 2}}}),
            "");
  EXPECT_NE(refusal_of(Binary{Kind::prelu}, {{ElementType::float32, Shape{1, 2}}, {ElementType::float32, Shape{2, 2}}}),
            "");
}

TEST(Binary, RefusesWhatDoesNotFit) {
  const auto type = [](ElementType t) { return TensorType(t, Shape{2}); };
  EXPECT_NE(refusal_of(Binary{Kind::add}, {type(ElementType::float32), type(ElementType::float64)}), "");
  EXPECT_NE(refusal_of(Binary{Kind::add}, {type(ElementType::boolean), type(ElementType::boolean)}), "");
  EXPECT_NE(refusal_of(Binary{Kind::mod}, {type(ElementType::float32), type(ElementType::float32)}), "");
  EXPECT_NE(refusal_of(Binary{Kind::shift_left}, {type(ElementType::int32), type(ElementType::int32)}), "");
  EXPECT_NE(refusal_of(Binary{Kind::logical_or}, {type(ElementType::int8), type(ElementType::int8)}), "");
  EXPECT_NE(refusal_of(Binary{Kind::add}, {{ElementType::float32, Shape{2}}, {ElementType::float32, Shape{3}}}), "");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_NE(
      refusal_of(Binary{Kind::add}, {{ElementType::float32, Shape{huge, 1}}, {ElementType::float32, Shape{1, huge}}}),
      "");
}

TEST(Binary, LeavesUnknownExtentsUnknown) {
  const TensorType x(ElementType::float32, std::vector<std::int64_t>{-1, 3, -1});
  const TensorType y(ElementType::float32, Shape{1, 5});
  EXPECT_EQ(inferred_from(Binary{Kind::add}, {x, {ElementType::float32, Shape{4, 1, 5}}})[0].to_string(),
            "float32[4, 3, 5]");
  EXPECT_EQ(inferred_from(Binary{Kind::less}, {x, y})[0].to_string(), "bool[?, 3, 5]");
  EXPECT_EQ(inferred_from(Binary{Kind::add}, {x, {ElementType::float32, std::nullopt}})[0].dims, std::nullopt);
}

}  // namespace
}  // namespace tessera
