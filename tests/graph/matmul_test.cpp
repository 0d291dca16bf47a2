#include "tessera/graph/ops/matmul.h"

#include "math_testing.h"

namespace tessera {
namespace {

TEST(MatMul, TakesVectorsAsRowsAndColumns) {
  const Array m = floats({2, 3}, {1, 2, 3, 4, 5, 6}), three = floats({3}, {1, 0, 2}), two = floats({2}, {1, 10});
  expect_values<float>(first_of(MatMul{}, {m, three}), {2}, {7, 16});
  expect_values<float>(first_of(MatMul{}, {two, m}), {3}, {41, 52, 63});
  expect_values<float>(first_of(MatMul{}, {three, three}), {}, {5});
  expect_values<float>(first_of(MatMul{}, {floats({2, 1, 3}, {1, 1, 1, 2, 2, 2}), three}), {2, 1}, {3, 6});
}

TEST(MatMul, BroadcastsLeadingDimensions) {
  const Array a = floats({2, 1, 1, 2}, {1, 2, 3, 4}), b = floats({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  expect_values<float>(first_of(MatMul{}, {a, b}), {2, 3, 1, 1}, {1, 2, 3, 3, 4, 7});
}

TEST(MatMul, KeepsIntegersExactAndEmptySumsZero) {
  expect_values<std::int64_t>(first_of(MatMul{}, {array_of<std::int64_t>({1, 2}, {9007199254740993, 1}),
                                                  array_of<std::int64_t>({2, 1}, {1, 1})}),
                              {1, 1}, {9007199254740994});
  expect_values<std::int8_t>(
      first_of(MatMul{}, {array_of<std::int8_t>({1, 1}, {100}), array_of<std::int8_t>({1, 1}, {2})}), {1, 1}, {-56});
  expect_values<float>(first_of(MatMul{}, {Array(ElementType::float32, {2, 0}), Array(ElementType::float32, {0, 1})}),
                       {2, 1}, {0, 0});
}

TEST(MatMul, RefusesWhatDoesNotMeet) {
  const auto f = [](Shape shape) { return TensorType(ElementType::float32, shape); };
  EXPECT_NE(refusal_of(MatMul{}, {f({2, 3}), f({2, 3})}), "");
  EXPECT_NE(refusal_of(MatMul{}, {f({2, 2, 3}), f({3, 3, 1})}), "");
  EXPECT_NE(refusal_of(MatMul{}, {f({}), f({1})}), "");
  EXPECT_EQ(
      inferred_from(MatMul{}, {{ElementType::float32, std::vector<std::int64_t>{-1, 4, -1}}, f({3, 5})})[0].to_string(),
      "float32[?, 4, 5]");
}

TEST(Gemm, TransposesAndAddsABroadcastMatrix) {
  const Array a = floats({3, 2}, {1, 4, 2, 5, 3, 6}), b = floats({2, 3}, {1, 0, 1, 0, 1, 0});
  const Gemm op{.alpha = 2, .beta = 0.5f, .transpose_a = true, .transpose_b = true};
  expect_values<float>(first_of(op, {a, b}), {2, 2}, {8, 4, 20, 10});
  expect_values<float>(first_of(op, {a, b, floats({2}, {2, 4})}), {2, 2}, {9, 6, 21, 12});
  expect_values<float>(first_of(op, {a, b, floats({2, 1}, {2, 4})}), {2, 2}, {9, 5, 22, 12});
  expect_values<float>(first_of(op, {a, b, floats({}, {2})}), {2, 2}, {9, 5, 21, 11});
}

TEST(Gemm, TakesIntegersAndAnEmptyMiddle) {
  expect_values<std::int32_t>(
      first_of(Gemm{.alpha = 0.5f}, {array_of<std::int32_t>({1, 1}, {3}), array_of<std::int32_t>({1, 1}, {3}),
                                     array_of<std::int32_t>({1}, {-10})}),
      {1, 1}, {-6});
  expect_values<float>(
      first_of(Gemm{}, {Array(ElementType::float32, {1, 0}), Array(ElementType::float32, {0, 2}), floats({2}, {1, 2})}),
      {1, 2}, {1, 2});
}

TEST(Gemm, RefusesWhatDoesNotMeet) {
  const auto f = [](Shape shape) { return TensorType(ElementType::float32, shape); };
  EXPECT_NE(refusal_of(Gemm{}, {f({2, 3}), f({2, 3})}), "");
  EXPECT_EQ(refusal_of(Gemm{.transpose_b = true}, {f({2, 3}), f({2, 3})}), "");
  EXPECT_NE(refusal_of(Gemm{}, {f({2, 3}), f({3, 4}), f({3})}), "");
  EXPECT_NE(refusal_of(Gemm{}, {f({2, 3}), f({3, 4}), f({1, 2, 4})}), "");
  EXPECT_NE(refusal_of(Gemm{}, {f({1, 2, 3}), f({3, 4})}), "");
}

}  // namespace
}  // namespace tessera
