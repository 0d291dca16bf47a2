#include "tessera/graph/ops/matmul.h"

#include "math_testing.h"

namespace tessera {
namespace {

Array einsum(const std::string& equation, const std::vector<std::optional<Array>>& inputs) {
  return first_of(Einsum{equation}, inputs);
}

std::string refusal(const std::string& equation, const std::vector<Shape>& shapes) {
  std::vector<TensorType> types;
  for (const Shape& shape : shapes) types.emplace_back(ElementType::float32, shape);
  return refusal_of(Einsum{equation}, types);
}

const Array& matrix() {
  static const Array m = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  return m;
}

TEST(Einsum, PermutesAndSums) {
  expect_values<float>(einsum("ij->ji", {matrix()}), {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_values<float>(einsum("ba", {matrix()}), {3, 2}, {1, 4, 2, 5, 3, 6});
  expect_values<float>(einsum("ij->i", {matrix()}), {2}, {6, 15});
  expect_values<float>(einsum(" i j -> ", {matrix()}), {}, {21});
}

TEST(Einsum, TakesDiagonals) {
  const Array square = floats({2, 2}, {1, 2, 3, 4});
  expect_values<float>(einsum("ii->i", {square}), {2}, {1, 4});
  expect_values<float>(einsum("ii", {square}), {}, {5});
  expect_values<float>(einsum("...ii->...i", {floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}), {2, 2}, {1, 4, 5, 8});
}

TEST(Einsum, MultipliesMatricesUnderDots) {
  const Array a = floats({2, 1, 2}, {1, 2, 3, 4}), b = floats({2, 1}, {1, 10});
  expect_values<float>(einsum("...ij,...jk->...ik", {a, b}), {2, 1, 1}, {21, 43});
  expect_values<float>(einsum("...ij,jk", {a, b}), {2, 1, 1}, {21, 43});
  expect_values<float>(einsum("...,...", {floats({2, 1}, {1, 2}), floats({3}, {1, 2, 3})}), {2, 3}, {1, 2, 3, 2, 4, 6});
  expect_values<float>(einsum("i...->...", {matrix()}), {3}, {5, 7, 9});
}

TEST(Einsum, ContractsManyOperands) {
  const Array v = floats({2}, {1, 2}), w = floats({3}, {1, 0, 1});
  expect_values<float>(einsum("i,ij,j->", {v, matrix(), w}), {}, {24});
  expect_values<float>(einsum("a,b,a,b->", {v, w, v, w}), {}, {10});
  expect_values<float>(einsum("i,j,k->kji", {v, floats({1}, {3}), v}), {2, 1, 2}, {3, 6, 6, 12});
  expect_values<float>(einsum("ij,ij,ij,i->j", {matrix(), matrix(), matrix(), v}), {3}, {129, 258, 459});
}

TEST(Einsum, KeepsLargeVectorsFromBecomingAMatrix) {
  Array ones(ElementType::float32, {1000000});
  for (float& v : ones.as<float>()) v = 1;
  expect_values<float>(einsum("a,b,a,b->", {ones, ones, ones, ones}), {}, {1e12f});
}

TEST(Einsum, OrdersImplicitOutputsWithCapitalsFirst) {
  expect_values<float>(einsum("aB", {matrix()}), {3, 2}, {1, 4, 2, 5, 3, 6});
}

TEST(Einsum, HandlesIntegersScalarsAndNothing) {
  expect_values<std::int64_t>(
      einsum("i,i->", {array_of<std::int64_t>({1}, {9007199254740993}), array_of<std::int64_t>({1}, {1})}), {},
      {9007199254740993});
  expect_values<float>(einsum(",i->i", {floats({}, {2}), floats({2}, {1, 2})}), {2}, {2, 4});
  expect_values<float>(einsum("ij->i", {Array(ElementType::float32, {2, 0})}), {2}, {0, 0});
}

TEST(Einsum, RefusesEquationsThatMakeNoSense) {
  EXPECT_NE(refusal("ij,jk->ik", {{2, 3}}), "");
  EXPECT_NE(refusal("ij", {{2, 3, 4}}), "");
  EXPECT_NE(refusal("i...j", {{2}}), "");
  EXPECT_NE(refusal("ij->k", {{2, 3}}), "");
  EXPECT_NE(refusal("ij->ii", {{2, 3}}), "");
  EXPECT_NE(refusal("ii", {{2, 3}}), "");
  EXPECT_NE(refusal("i,i", {{2}, {3}}), "");
  EXPECT_NE(refusal("i->j->i", {{2}}), "");
  EXPECT_NE(refusal("i.j", {{2, 2}}), "");
  EXPECT_NE(refusal("......", {{2, 2}}), "");
  EXPECT_NE(refusal("i1", {{2, 2}}), "");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_NE(refusal("i,j->ij", {{huge}, {huge}}), "");
}

TEST(Einsum, InfersWithUnknownExtents) {
  const TensorType x(ElementType::float32, std::vector<std::int64_t>{-1, 3}), w(ElementType::float32, Shape{3, 4});
  EXPECT_EQ(inferred_from(Einsum{"ij,jk->ik"}, {x, w})[0].to_string(), "float32[?, 4]");
  EXPECT_EQ(inferred_from(Einsum{"ij,jk->ik"}, {{ElementType::float32, std::nullopt}, w})[0].to_string(),
            "float32[?, ?]");
  EXPECT_EQ(inferred_from(Einsum{"...j,jk->...k"}, {{ElementType::float32, std::nullopt}, w})[0].to_string(),
            "float32[...]");
}

}  // namespace
}  // namespace tessera
