#include "tests/targets/cpu/dense_case.h"
#include "tests/targets/cpu/fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

constexpr ElementType kF32 = ElementType::float32, kBf16 = ElementType::bfloat16;

struct Spec {
  std::int64_t n = 1, ic = 1, oc = 1;  // oc: of one group
  std::vector<std::int64_t> spatial, kernel, strides = {}, dilations = {}, pads = {}, output_padding = {},
                                             output_shape = {};
  std::int64_t groups = 1;
  AutoPad auto_pad = AutoPad::none;
  bool bias = true, specials = false;
  Fusion fusion = {};
  ElementType type = kF32;
};

std::vector<std::string> check_spec(const Spec& spec, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  KernelCase test;
  std::vector<std::int64_t> x{spec.n, spec.ic}, w{spec.ic, spec.oc};
  x.insert(x.end(), spec.spatial.begin(), spec.spatial.end());
  w.insert(w.end(), spec.kernel.begin(), spec.kernel.end());
  ConvTranspose op;
  op.window.strides = spec.strides, op.window.dilations = spec.dilations, op.window.pads = spec.pads;
  op.window.auto_pad = spec.auto_pad;
  op.groups = spec.groups;
  op.output_padding = spec.output_padding, op.output_shape = spec.output_shape;
  std::vector<ValueId> inputs{test.graph.add_input("x", {spec.type, Shape(x)}),
                              test.graph.add_constant("w", random_array(spec.type, Shape(w), random))};
  if (spec.bias)
    inputs.push_back(test.graph.add_constant("b", random_array(spec.type, Shape{spec.oc * spec.groups}, random)));
  test.arrays.push_back(random_array(spec.type, Shape(x), random));
  if (spec.specials) sprinkle(test.arrays[0], random);
  test.graph.outputs = {test.graph.add("up", op, inputs)};
  fuse(test, spec.fusion, spec.type, random);
  allow_rounding(test, spec.type, Shape(w).volume() / spec.oc / spec.groups);
  return expect_kernels_agree(test);
}

std::size_t usable(ElementType type) {
  return static_cast<std::size_t>(std::ranges::count_if(tested_kernels(), [&](const CpuKernel& kernel) {
    return kernel.info.op == ConvTranspose::kName && kernel.info.type == type && kernel.info.isa <= host_isa() &&
           kernel.info.m > 0;
  }));
}

TEST(ConvTransposeKernels, DoubleTheExtentsByFourProducts) {
  for (const ElementType type : {kF32, kBf16})
    EXPECT_GE(
        check_spec({.n = 2, .ic = 40, .oc = 33, .spatial = {7, 9}, .kernel = {2, 2}, .strides = {2, 2}, .type = type})
            .size(),
        usable(type));
}

TEST(ConvTransposeKernels, AgreeOnStridesKernelsPadsAndOutputPadding) {
  EXPECT_GE(
      check_spec({.ic = 5, .oc = 17, .spatial = {4, 5}, .kernel = {4, 4}, .strides = {2, 2}, .pads = {1, 1, 1, 1}})
          .size(),
      usable(kF32));
  EXPECT_GE(check_spec({.ic = 5,
                        .oc = 7,
                        .spatial = {4, 5},
                        .kernel = {3, 3},
                        .strides = {2, 3},
                        .pads = {1, 0, 0, 2},
                        .output_padding = {1, 2}})
                .size(),
            usable(kF32));
  // Some outputs see no tap at all.
  EXPECT_GE(check_spec({.ic = 3, .oc = 3, .spatial = {4, 3}, .kernel = {2, 1}, .strides = {3, 4}}).size(),
            usable(kF32));
  EXPECT_GE(check_spec({.ic = 3,
                        .oc = 9,
                        .spatial = {6, 5},
                        .kernel = {3, 2},
                        .strides = {2, 1},
                        .dilations = {2, 3},
                        .pads = {3, 1, 2, 0}})
                .size(),
            usable(kF32));
  EXPECT_GE(check_spec({.ic = 3, .oc = 9, .spatial = {6}, .kernel = {5}, .strides = {2}, .pads = {1, 2}}).size(),
            usable(kF32));
}

TEST(ConvTransposeKernels, AgreeOnPaddingThatFollowsFromTheOutput) {
  for (const AutoPad pad : {AutoPad::same_upper, AutoPad::same_lower, AutoPad::valid})
    EXPECT_GE(
        check_spec({.ic = 3, .oc = 4, .spatial = {4, 5}, .kernel = {3, 4}, .strides = {2, 2}, .auto_pad = pad}).size(),
        usable(kF32));
  EXPECT_GE(
      check_spec({.ic = 3, .oc = 4, .spatial = {4, 5}, .kernel = {3, 3}, .strides = {3, 2}, .output_shape = {10, 8}})
          .size(),
      usable(kF32));
}

TEST(ConvTransposeKernels, AgreeOnGroupsAndEpilogues) {
  EXPECT_GE(check_spec({.ic = 6, .oc = 5, .spatial = {4, 5}, .kernel = {3, 3}, .strides = {2, 2}, .groups = 3}).size(),
            usable(kF32));
  EXPECT_GE(check_spec({.ic = 6, .oc = 1, .spatial = {4, 5}, .kernel = {4, 4}, .strides = {2, 2}, .groups = 6}).size(),
            usable(kF32));
  for (int activation = 0; activation <= kActivations; ++activation)
    EXPECT_GE(check_spec({.ic = 6,
                          .oc = 35,
                          .spatial = {4, 5},
                          .kernel = {3, 3},
                          .strides = {2, 2},
                          .fusion = {.before = activation, .residual = true, .after = kActivations - activation}})
                  .size(),
              usable(kF32));
}

TEST(ConvTransposeKernels, AgreeOnRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Spec spec;
    spec.n = 1 + below(2);
    spec.groups = pick({1, 1, 2, 3}, random);
    spec.ic = spec.groups * (1 + below(20));
    spec.oc = 1 + below(pick({4, 40}, random));
    const std::size_t rank = 1 + random() % 2;
    std::vector<std::int64_t> ends;
    for (std::size_t d = 0; d < rank; ++d) {
      spec.spatial.push_back(1 + below(8));
      spec.kernel.push_back(1 + below(5));
      spec.strides.push_back(1 + below(4));
      spec.dilations.push_back(1 + below(3));
      spec.output_padding.push_back(below(spec.strides[d]));
      const std::int64_t full = (spec.spatial[d] - 1) * spec.strides[d] + spec.output_padding[d] +
                                (spec.kernel[d] - 1) * spec.dilations[d] + 1;
      spec.pads.push_back(below(std::min<std::int64_t>(4, full)));
      ends.push_back(below(std::min<std::int64_t>(4, full - spec.pads[d])));
    }
    spec.pads.insert(spec.pads.end(), ends.begin(), ends.end());
    spec.bias = random() % 2;
    spec.type = random() % 3 == 0 ? kBf16 : kF32;
    spec.specials = random() % 4 == 0;
    const int activations = spec.specials ? 1 : kActivations;
    spec.fusion = {.before = static_cast<int>(below(activations + 1)),
                   .residual = random() % 2 == 0,
                   .after = static_cast<int>(below(activations + 1))};
    EXPECT_GE(check_spec(spec, random()).size(), usable(spec.type));
  });
}

}  // namespace
}  // namespace tessera::cpu
