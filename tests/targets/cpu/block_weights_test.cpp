// Weights in fewer bits: kernels must give what the definition makes of the rounded weights.

#include "tests/targets/cpu/dense_case.h"
#include "tests/targets/cpu/fuzz.h"

#include "tessera/core/isa.h"
#include "tessera/graph/ops/conv.h"
#include "tessera/graph/passes/pass.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

constexpr ElementType kF32 = ElementType::float32;
constexpr DType kDTypes[] = {DType::bfloat16, DType::bfloat8_b, DType::bfloat4_b};

std::int64_t usable(DType weights, std::string_view op) {
  return std::ranges::count_if(kernels(), [&](const CpuKernel& kernel) {
    return kernel.info.op == op && kernel.info.weights == weights && kernel.info.isa <= host_isa();
  });
}

// Every kernel that keeps weights so, and every other one, on the rounded weights.
void expect_all_agree(KernelCase test, DType dtype) {
  round_weights(test.graph, dtype);
  test.weights = dtype;
  const std::string_view op = name(test.graph.nodes[0].op);
  const std::vector<std::string> took = expect_kernels_agree(test);
  const auto expanding = std::ranges::count_if(took, [&](const std::string& kernel) {
    return kernel.find("_bfp") != std::string::npos || kernel.find("_w16_") != std::string::npos;
  });
  EXPECT_EQ(expanding, usable(dtype, op)) << name(dtype);
  test.weights = DType::float32;
  for (const std::string& kernel : expect_kernels_agree(test))
    EXPECT_EQ(kernel.find("_bfp"), std::string::npos) << kernel << " was not asked for";
}

struct Spec {
  std::int64_t ic = 1, oc = 1, height = 5, width = 6, kernel = 1, stride = 1, groups = 1;
  Fusion fusion = {};
  bool specials = false;
};

KernelCase conv_case(const Spec& s, std::mt19937_64& random) {
  KernelCase test;
  Conv conv;
  conv.window.strides = {s.stride, s.stride};
  conv.window.pads.assign(4, s.kernel / 2);
  conv.groups = s.groups;
  const Shape x{1, s.ic, s.height, s.width}, w{s.oc, s.ic / s.groups, s.kernel, s.kernel};
  const std::vector<ValueId> inputs{test.graph.add_input("x", {kF32, x}),
                                    test.graph.add_constant("w", random_array(kF32, w, random)),
                                    test.graph.add_constant("b", random_array(kF32, Shape{s.oc}, random))};
  test.arrays.push_back(random_array(kF32, x, random));
  if (s.specials) sprinkle(test.arrays[0], random);
  test.graph.outputs = {test.graph.add("conv", conv, inputs)};
  fuse(test, s.fusion, kF32, random);
  allow_rounding(test, kF32, w.volume() / s.oc);
  return test;
}

TEST(BlockWeightsLong, ConvolutionsAgreeOnOddNumbersOfChannels) {
  std::mt19937_64 random(1);
  for (const DType dtype : kDTypes)
    for (const std::int64_t ic : {1, 5, 17, 130})
      for (const std::int64_t oc : {1, 7, 16, 33, 65, 130})
        expect_all_agree(conv_case({.ic = ic, .oc = oc, .kernel = 3}, random), dtype);
}

TEST(BlockWeights, ConvolutionsAgreeOnLongReductionsGroupsStridesAndFusedOperators) {
  std::mt19937_64 random(2);
  for (const DType dtype : kDTypes) {
    // More than one part of a tap, of one tap and of several.
    expect_all_agree(conv_case({.ic = 700, .oc = 40, .height = 3, .width = 3, .kernel = 3}, random), dtype);
    expect_all_agree(conv_case({.ic = 1500, .oc = 70, .height = 4, .width = 9}, random), dtype);
    expect_all_agree(conv_case({.ic = 48, .oc = 20, .height = 6, .width = 5, .kernel = 3}, random), dtype);
    expect_all_agree(conv_case({.ic = 12, .oc = 36, .kernel = 3, .stride = 2, .groups = 3}, random), dtype);
    expect_all_agree(conv_case({.ic = 3, .oc = 64, .height = 20, .width = 20, .kernel = 7, .stride = 2}, random),
                     dtype);
    expect_all_agree(
        conv_case({.ic = 20, .oc = 33, .height = 8, .width = 8, .kernel = 3, .fusion = {.before = 1, .pool = true}},
                  random),
        dtype);
    expect_all_agree(
        conv_case({.ic = 20, .oc = 33, .kernel = 3, .fusion = {.before = 2, .residual = true, .after = 1}}, random),
        dtype);
  }
}

TEST(BlockWeights, ConvolutionsAgreeOnInfinitiesAndNaNInTheInput) {
  std::mt19937_64 random(3);
  for (const DType dtype : kDTypes)
    expect_all_agree(conv_case({.ic = 33, .oc = 40, .kernel = 3, .specials = true}, random), dtype);
}

TEST(BlockWeights, ProductsAgreeForAnyNumberOfRowsEitherWayRound) {
  std::mt19937_64 random(4);
  for (const DType dtype : kDTypes)
    for (const std::int64_t m : {1, 2, 13, 50})
      for (const bool transposed : {false, true}) {
        const std::int64_t k = 261, n = 83;
        KernelCase test;
        Gemm op;
        op.transpose_b = transposed;
        const std::vector<ValueId> inputs{
            test.graph.add_input("a", {kF32, Shape{m, k}}),
            test.graph.add_constant("b", random_array(kF32, transposed ? Shape{n, k} : Shape{k, n}, random)),
            test.graph.add_constant("c", random_array(kF32, Shape{n}, random))};
        test.arrays.push_back(random_array(kF32, Shape{m, k}, random));
        test.graph.outputs = {test.graph.add("y", op, inputs)};
        allow_rounding(test, kF32, k);
        expect_all_agree(std::move(test), dtype);

        if (transposed) continue;
        KernelCase product;
        product.graph.outputs = {
            product.graph.add("y", MatMul{},
                              {product.graph.add_input("a", {kF32, Shape{m, k}}),
                               product.graph.add_constant("b", random_array(kF32, Shape{k, n}, random))})};
        product.arrays.push_back(random_array(kF32, Shape{m, k}, random));
        allow_rounding(product, kF32, k);
        expect_all_agree(std::move(product), dtype);
      }
}

// Every code under every exponent that a normal number has.
TEST(BlockWeights, EveryValueComesBackAsItIs) {
  for (const DType dtype : kDTypes) {
    const int bits = dtype == DType::bfloat4_b ? 3 : 7, codes = (2 << bits) - 1;
    for (const int exponent : {-119, -60, -1, 0, 1, 77, 119}) {
      // Sixteen output channels, each step of the reduction with a part of the codes and one that sets the exponent.
      const std::int64_t steps = ceil_div(codes, 15);
      Array w(kF32, Shape{16, steps, 1, 1});
      for (std::int64_t k = 0; k < steps; ++k)
        for (std::int64_t n = 0; n < 16; ++n) {
          const std::int64_t code =
              n == 15 ? (1 << bits) - 1 : std::min<std::int64_t>(k * 15 + n, codes - 1) - codes / 2;
          w.as<float>()[static_cast<std::size_t>(n * steps + k)] =
              std::ldexp(static_cast<float>(code), exponent - bits + 1);
        }
      KernelCase test;
      test.graph.outputs = {test.graph.add(
          "conv", Conv{},
          {test.graph.add_input("x", {kF32, Shape{1, steps, 1, steps}}), test.graph.add_constant("w", w)})};
      // Each pixel picks one step: the results are the weights themselves.
      Array x(kF32, Shape{1, steps, 1, steps});
      for (std::int64_t k = 0; k < steps; ++k) x.as<float>()[static_cast<std::size_t>(k * steps + k)] = 1;
      test.arrays.push_back(x);
      test.weights = dtype;
      for (const CpuKernel& kernel : kernels()) {
        if (kernel.info.op != Conv::kName || kernel.info.weights != dtype || kernel.info.isa > host_isa()) continue;
        const auto result = run_kernel(kernel, test);
        ASSERT_TRUE(std::holds_alternative<std::vector<Array>>(result));
        const Array& y = std::get<std::vector<Array>>(result)[0];
        for (std::size_t i = 0; i < static_cast<std::size_t>(w.count()); ++i)
          ASSERT_EQ(y.as<float>()[i], w.as<float>()[i]) << kernel.info.name << " exponent " << exponent;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
