#include "tests/targets/cpu/dense_case.h"
#include "tests/targets/cpu/fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace tessera::cpu {
namespace {

constexpr ElementType kF32 = ElementType::float32, kBf16 = ElementType::bfloat16;

struct Spec {
  Op op = Gemm{};
  std::vector<std::int64_t> a, b;
  std::optional<std::vector<std::int64_t>> c = {};
  bool constant_b = true, constant_c = true, specials = false;
  Fusion fusion = {};
  ElementType type = kF32;
};

std::vector<std::string> check_spec(const Spec& spec, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  KernelCase test;
  std::vector<ValueId> inputs;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& dims, bool constant) {
    Array array = random_array(spec.type, Shape(dims), random);
    if (constant) {
      inputs.push_back(test.graph.add_constant(name, std::move(array)));
    } else {
      if (spec.specials && name == "a") sprinkle(array, random);
      inputs.push_back(test.graph.add_input(name, {array.type(), array.shape()}));
      test.arrays.push_back(std::move(array));
    }
  };
  add("a", spec.a, false);
  add("b", spec.b, spec.constant_b);
  if (spec.c) add("c", *spec.c, spec.constant_c);
  test.graph.outputs = {test.graph.add("product", spec.op, inputs)};
  fuse(test, spec.fusion, spec.type, random);
  const auto* gemm = std::get_if<Gemm>(&spec.op);
  allow_rounding(test, spec.type, gemm && gemm->transpose_a ? spec.a[0] : spec.a.back());
  if (gemm) test.magnitude *= std::max(1.0f, std::abs(gemm->alpha));
  return expect_kernels_agree(test);
}

std::size_t usable(std::string_view op, ElementType type) {
  return static_cast<std::size_t>(std::ranges::count_if(tested_kernels(), [&](const CpuKernel& kernel) {
    return kernel.info.op == op && kernel.info.type == type && kernel.info.isa <= host_isa() && kernel.info.m > 0 &&
           kernel.info.weights == DType::float32;
  }));
}

TEST(GemmKernels, AgreeOnAllExtents) {
  for (const ElementType type : {kF32, kBf16})
    for (const std::int64_t m : {1, 2, 5, 13, 14, 15, 29, 49})
      for (const std::int64_t n : {1, 12, 17, 33, 64, 130})
        for (const std::int64_t k : {1, 7, 65})
          EXPECT_GE(check_spec({.a = {m, k}, .b = {k, n}, .c = {{n}}, .type = type}).size(), usable("Gemm", type));
}

TEST(GemmKernels, AgreeOnTransposedOperands) {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const bool constant : {false, true})
        for (const ElementType type : {kF32, kBf16}) {
          Gemm gemm;
          gemm.transpose_a = a, gemm.transpose_b = b;
          Spec spec{.op = gemm, .a = {19, 23}, .b = {23, 37}, .c = {{1, 37}}, .constant_b = constant, .type = type};
          if (a) std::swap(spec.a[0], spec.a[1]);
          if (b) std::swap(spec.b[0], spec.b[1]);
          EXPECT_GE(check_spec(spec).size(), usable("Gemm", type));
        }
}

TEST(GemmKernels, AgreeOnEveryShapeOfTheAddend) {
  Gemm gemm;
  gemm.alpha = 0.5f, gemm.beta = -2;
  for (const std::vector<std::int64_t>& c :
       std::vector<std::vector<std::int64_t>>{{}, {1}, {37}, {1, 37}, {19, 1}, {19, 37}, {1, 1}})
    for (const bool constant : {false, true})
      EXPECT_GE(check_spec({.op = gemm, .a = {19, 23}, .b = {23, 37}, .c = c, .constant_c = constant}).size(),
                usable("Gemm", kF32));
  gemm.alpha = 1;
  EXPECT_GE(check_spec({.op = gemm, .a = {19, 23}, .b = {23, 37}, .c = {{19, 37}}, .type = kBf16}).size(),
            usable("Gemm", kBf16));
  gemm.beta = 0;
  EXPECT_GE(check_spec({.op = gemm, .a = {19, 23}, .b = {23, 37}, .c = {{19, 37}}}).size(), usable("Gemm", kF32));
}

TEST(GemmKernels, AgreeOnReductionsThatAreCutIntoParts) {
  EXPECT_GE(check_spec({.a = {33, 11000}, .b = {11000, 34}, .c = {{33, 34}}}).size(), usable("Gemm", kF32));
  EXPECT_GE(check_spec({.a = {33, 11001}, .b = {11001, 34}, .c = {{33, 34}}, .type = kBf16}).size(),
            usable("Gemm", kBf16));
  EXPECT_GE(check_spec({.a = {1, 11000}, .b = {11000, 34}, .c = {{34}}, .type = kBf16}).size(), usable("Gemm", kBf16));
}

TEST(GemmKernels, AgreeOnEpilogues) {
  for (const ElementType type : {kF32, kBf16})
    for (int activation = 0; activation <= kActivations; ++activation)
      EXPECT_GE(check_spec({.a = {15, 20},
                            .b = {20, 35},
                            .c = {{35}},
                            .fusion = {.before = activation, .residual = true, .after = kActivations - activation},
                            .type = type})
                    .size(),
                usable("Gemm", type));
}

TEST(MatMulKernels, AgreeOnBatchesVectorsAndBroadcasting) {
  using Dims = std::vector<std::int64_t>;
  const std::vector<std::pair<Dims, Dims>> shapes = {{{5, 7}, {7, 9}},
                                                     {{7}, {7, 9}},
                                                     {{5, 7}, {7}},
                                                     {{7}, {7}},
                                                     {{3, 5, 7}, {7, 9}},
                                                     {{3, 5, 7}, {3, 7, 9}},
                                                     {{5, 7}, {3, 7, 40}},
                                                     {{2, 3, 5, 7}, {2, 3, 7, 9}},
                                                     {{2, 1, 5, 7}, {3, 7, 9}},
                                                     {{7}, {2, 7, 9}},
                                                     {{2, 3, 17, 7}, {1, 3, 7, 33}},
                                                     {{2, 4, 7}, {7}},
                                                     {{4, 1, 5, 7}, {1, 3, 7, 9}}};
  for (const auto& [a, b] : shapes)
    for (const bool constant : {false, true})
      for (const ElementType type : {kF32, kBf16})
        EXPECT_GE(check_spec({.op = MatMul{}, .a = a, .b = b, .constant_b = constant, .type = type}).size(),
                  usable("MatMul", type));
}

// Beside an extent of 1, one of 0 stays one: there is nothing to compute, and nothing to read.
TEST(MatMulKernels, LeaveEmptyBatchesToTheDefinition) {
  using Dims = std::vector<std::int64_t>;
  const std::vector<std::pair<Dims, Dims>> shapes = {{{5, 7}, {0, 7, 9}},          {{1, 5, 7}, {0, 7, 9}},
                                                     {{0, 5, 7}, {7, 9}},          {{0, 5, 7}, {1, 7, 9}},
                                                     {{2, 1, 5, 7}, {1, 0, 7, 9}}, {{7}, {0, 7, 9}}};
  for (const auto& [a, b] : shapes)
    for (const bool constant : {false, true})
      for (const ElementType type : {kF32, kBf16})
        EXPECT_TRUE(check_spec({.op = MatMul{}, .a = a, .b = b, .constant_b = constant, .type = type}).empty());
}

TEST(GemmKernels, AgreeOnRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Gemm gemm;
    gemm.transpose_a = random() % 2, gemm.transpose_b = random() % 2;
    gemm.alpha = pick({1.0f, 1.0f, 0.3f}, random), gemm.beta = pick({1.0f, 0.0f, -1.5f}, random);
    const std::int64_t m = 1 + below(40), k = 1 + below(90), n = 1 + below(pick({8, 40, 140}, random));
    Spec spec;
    spec.type = random() % 2 == 0 ? kBf16 : kF32;
    if (spec.type == kBf16) gemm.alpha = 1;
    spec.op = gemm;
    spec.a = gemm.transpose_a ? std::vector{k, m} : std::vector{m, k};
    spec.b = gemm.transpose_b ? std::vector{n, k} : std::vector{k, n};
    if (random() % 2) spec.c = pick({std::vector{n}, std::vector{m, n}, std::vector{m, std::int64_t{1}}}, random);
    spec.constant_b = random() % 2, spec.constant_c = random() % 2, spec.specials = random() % 4 == 0;
    const int activations = spec.specials ? 1 : kActivations;
    spec.fusion = {.before = static_cast<int>(below(activations + 1)),
                   .residual = random() % 2 == 0,
                   .after = static_cast<int>(below(activations + 1))};
    EXPECT_GE(check_spec(spec, random()).size(), usable("Gemm", spec.type));
  });
}

}  // namespace
}  // namespace tessera::cpu
