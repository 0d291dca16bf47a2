// Subnormal weights become 0 when they are packed, unless the plan is to be exact.

#include "tests/targets/cpu/one_node.h"

#include "tessera/core/isa.h"
#include "tessera/graph/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::cpu {
namespace {

constexpr float kSubnormal = 1e-40f, kHuge = 1e38f;
// Times what a Winograd transform multiplies inputs by, still finite.
constexpr float kLarge = 1e36f;

Array filled(const Shape& shape, float value) {
  Array out(ElementType::float32, shape);
  for (float& v : out.as<float>()) v = value;
  return out;
}

// Every kernel of the operator: exact as the definition says, otherwise as if the weights were 0.
void expect_flushed(KernelCase test) {
  const std::vector<Array> wanted = evaluate(test.graph, test.arrays);
  int ran = 0;
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.op != name(test.graph.nodes[0].op) || kernel.info.isa > host_isa()) continue;
    for (const bool exact : {false, true}) {
      if (exact && !kernel.info.exact()) continue;
      test.exact = exact;
      const auto result = run_kernel(kernel, test);
      if (!std::holds_alternative<std::vector<Array>>(result)) continue;
      ++ran;
      const Array& y = std::get<std::vector<Array>>(result)[0];
      for (std::size_t i = 0; i < static_cast<std::size_t>(y.count()); ++i) {
        const float full = wanted[0].as<float>()[i];
        ASSERT_NE(full, 0.0f) << "such a test could not fail";
        const float allowed = std::ldexp(std::abs(full), -12);
        ASSERT_NEAR(y.as<float>()[i], exact ? full : 0.0f, allowed) << kernel.info.name << " exact " << exact;
      }
    }
  }
  EXPECT_GT(ran, 0);
}

TEST(Flush, ConvolutionsForgetSubnormalWeights) {
  expect_flushed(one_node(Conv{}, {{filled({1, 20, 2, 3}, kHuge)}, {filled({40, 20, 1, 1}, kSubnormal), true}}));
}

TEST(Flush, ConvolutionsOfThreeByThreeForgetSubnormalWeights) {
  Conv conv;
  conv.window.pads = {1, 1, 1, 1};
  expect_flushed(one_node(conv, {{filled({1, 20, 7, 8}, kLarge)}, {filled({40, 20, 3, 3}, kSubnormal), true}}));
}

TEST(Flush, StemsForgetSubnormalWeights) {
  Conv conv;
  conv.window.strides = {2, 2};
  expect_flushed(one_node(conv, {{filled({1, 3, 9, 11}, kHuge)}, {filled({40, 3, 3, 3}, kSubnormal), true}}));
}

TEST(Flush, DepthwiseConvolutionsForgetSubnormalWeights) {
  Conv conv;
  conv.groups = 20;
  expect_flushed(one_node(conv, {{filled({1, 20, 4, 5}, kHuge)}, {filled({20, 1, 3, 3}, kSubnormal), true}}));
}

TEST(Flush, TransposedConvolutionsForgetSubnormalWeights) {
  expect_flushed(one_node(ConvTranspose{}, {{filled({1, 9, 3, 4}, kHuge)}, {filled({9, 20, 1, 1}, kSubnormal), true}}));
}

TEST(Flush, ProductsForgetSubnormalWeights) {
  Gemm transposed;
  transposed.transpose_b = true;
  expect_flushed(one_node(Gemm{}, {{filled({3, 20}, kHuge)}, {filled({20, 40}, kSubnormal), true}}));
  expect_flushed(one_node(transposed, {{filled({3, 20}, kHuge)}, {filled({40, 20}, kSubnormal), true}}));
  expect_flushed(one_node(MatMul{}, {{filled({3, 20}, kHuge)}, {filled({20, 40}, kSubnormal), true}}));
}

TEST(Flush, MatricesThatComeWithARunStayAsTheyAre) {
  KernelCase test = one_node(MatMul{}, {{filled({3, 20}, kHuge)}, {filled({20, 40}, kSubnormal)}});
  const std::vector<Array> wanted = evaluate(test.graph, test.arrays);
  test.exact = false;
  for (const CpuKernel& kernel : kernels()) {
    if (kernel.info.op != MatMul::kName || kernel.info.isa > host_isa()) continue;
    const auto result = run_kernel(kernel, test);
    if (!std::holds_alternative<std::vector<Array>>(result)) continue;
    const float got = std::get<std::vector<Array>>(result)[0].as<float>()[0], full = wanted[0].as<float>()[0];
    EXPECT_NEAR(got, full, std::ldexp(std::abs(full), -12)) << kernel.info.name;
  }
}

TEST(Flush, RecurrentLayersForgetSubnormalWeights) {
  Recurrent op;
  op.kind = Recurrent::Kind::rnn;
  op.hidden = 8;
  expect_flushed(one_node(
      op, {{filled({1, 2, 5}, kHuge)}, {filled({1, 8, 5}, kSubnormal), true}, {filled({1, 8, 8}, kSubnormal), true}}));
}

}  // namespace
}  // namespace tessera::cpu
