#include "tessera/graph/evaluate.h"
#include "tests/targets/cpu/conv2d_case.h"
#include "tests/targets/cpu/fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tessera::cpu {
namespace {

constexpr ElementType kF32 = ElementType::float32, kBf16 = ElementType::bfloat16;

bool is_dense(std::string_view name) { return name.starts_with("conv2d_") && !name.starts_with("conv2d_planes_"); }

std::size_t usable(ElementType type) {
  return static_cast<std::size_t>(std::ranges::count_if(tested_kernels(), [&](const CpuKernel& kernel) {
    return is_dense(kernel.info.name) && kernel.info.type == type && kernel.info.isa <= host_isa() &&
           kernel.info.m > 0 && kernel.info.weights == DType::float32;
  }));
}

// Names of the dense engine's kernels that took it.
std::vector<std::string> check_dense(const Conv2dSpec& spec, std::uint64_t seed = 1) {
  std::vector<std::string> names = check_spec(spec, seed);
  std::erase_if(names, [](const std::string& name) { return !is_dense(name); });
  return names;
}

TEST(Conv2dKernels, AgreeOnOddNumbersOfChannels) {
  for (const ElementType type : {kF32, kBf16})
    for (const std::int64_t ic : {1, 3, 5, 17, 33})
      for (const std::int64_t oc : {1, 3, 17, 33, 65, 130})
        EXPECT_GE(
            check_dense({.ic = ic, .oc = oc, .spatial = {5, 6}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}, .type = type})
                .size(),
            usable(type));
}

TEST(Conv2dKernels, AgreeOnEveryNumberOfRowsOfATile) {
  for (const ElementType type : {kF32, kBf16})
    for (std::int64_t width = 1; width <= (type == kF32 ? 30 : 66); ++width)
      EXPECT_GE(check_dense({.ic = 19, .oc = 40, .spatial = {1, width}, .kernel = {1, 1}, .type = type}).size(),
                usable(type));
}

TEST(Conv2dKernels, AgreeOnStridesDilationsAndAsymmetricPads) {
  for (const ElementType type : {kF32, kBf16})
    for (Conv2dSpec spec :
         {Conv2dSpec{.ic = 3, .oc = 33, .spatial = {17, 19}, .kernel = {7, 7}, .strides = {2, 2}, .pads = {3, 3, 3, 3}},
          Conv2dSpec{.ic = 3, .oc = 8, .spatial = {9, 12}, .kernel = {3, 2}, .strides = {2, 3}, .pads = {0, 1, 2, 0}},
          Conv2dSpec{.n = 2,
                     .ic = 20,
                     .oc = 8,
                     .spatial = {11, 9},
                     .kernel = {3, 3},
                     .strides = {1, 2},
                     .dilations = {2, 3},
                     .pads = {2, 3, 1, 4}},
          Conv2dSpec{.n = 3, .ic = 40, .oc = 50, .spatial = {9, 7}, .kernel = {1, 1}, .strides = {2, 2}}}) {
      spec.type = type;
      EXPECT_GE(check_dense(spec).size(), usable(type));
    }
}

TEST(Conv2dKernels, AgreeWhenTheKernelIsLargerThanTheInput) {
  for (const ElementType type : {kF32, kBf16})
    for (Conv2dSpec spec : {Conv2dSpec{.ic = 4, .oc = 9, .spatial = {2, 3}, .kernel = {5, 7}, .pads = {3, 4, 3, 4}},
                            Conv2dSpec{.ic = 24, .oc = 9, .spatial = {2, 3}, .kernel = {5, 7}, .pads = {3, 4, 3, 4}},
                            Conv2dSpec{.ic = 2, .oc = 2, .spatial = {1, 1}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}}}) {
      spec.type = type;
      EXPECT_GE(check_dense(spec).size(), usable(type));
    }
}

TEST(Conv2dKernels, AgreeOnReductionsThatAreCutIntoParts) {
  // Single taps deeper than the second cache holds; many taps; more taps than a table of rows holds; several taps of
  // which each is too deep to be copied at once (AMX).
  for (const ElementType type : {kF32, kBf16})
    for (Conv2dSpec spec :
         {Conv2dSpec{.ic = 11001, .oc = 17, .spatial = {5, 6}, .kernel = {1, 1}, .fusion = {.before = 1}},
          Conv2dSpec{.ic = 1301, .oc = 34, .spatial = {5, 4}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}},
          Conv2dSpec{.ic = 16, .oc = 9, .spatial = {20, 33}, .kernel = {18, 31}},
          Conv2dSpec{.ic = 9301, .oc = 3, .spatial = {1, 35}, .kernel = {1, 2}, .pads = {0, 1, 0, 0}}}) {
      spec.type = type;
      EXPECT_GE(check_dense(spec).size(), usable(type));
    }
}

TEST(Conv2dKernels, AgreeOnGroups) {
  for (const ElementType type : {kF32, kBf16})
    for (Conv2dSpec spec :
         {Conv2dSpec{.n = 2, .ic = 6, .oc = 9, .spatial = {5, 5}, .kernel = {3, 3}, .groups = 3},
          Conv2dSpec{.ic = 64, .oc = 128, .spatial = {6, 5}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}, .groups = 4},
          // One input channel for several output channels.
          Conv2dSpec{.ic = 5, .oc = 15, .spatial = {6, 5}, .kernel = {3, 3}, .groups = 5}}) {
      spec.type = type;
      EXPECT_GE(check_dense(spec).size(), usable(type));
    }
}

TEST(Conv2dKernels, AgreeOnOneDimension) {
  for (const ElementType type : {kF32, kBf16})
    EXPECT_GE(
        check_dense(
            {.n = 2, .ic = 7, .oc = 20, .spatial = {31}, .kernel = {5}, .strides = {2}, .pads = {2, 1}, .type = type})
            .size(),
        usable(type));
}

TEST(Conv2dKernels, AgreeOnEveryEpilogue) {
  for (const ElementType type : {kF32, kBf16})
    for (int before = 0; before <= kActivations; ++before)
      for (int after = -1; after <= kActivations; ++after)
        EXPECT_GE(check_dense({.ic = 9,
                               .oc = 35,
                               .spatial = {4, 5},
                               .kernel = {3, 3},
                               .pads = {1, 1, 1, 1},
                               .bias = before % 2 == 0,
                               .fusion = {.before = before, .residual = after >= 0, .after = std::max(after, 0)},
                               .type = type})
                      .size(),
                  usable(type))
            << "before " << before << " after " << after;
}

TEST(Conv2dKernels, PassInfinitiesAndNanToExactlyTheRightResults) {
  for (const ElementType type : {kF32, kBf16})
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for (Conv2dSpec spec : {Conv2dSpec{.ic = 4, .oc = 33, .spatial = {9, 8}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}},
                              Conv2dSpec{.ic = 3, .oc = 5, .spatial = {9, 8}, .kernel = {1, 1}},
                              Conv2dSpec{.ic = 33,
                                         .oc = 18,
                                         .spatial = {9, 8},
                                         .kernel = {1, 1},
                                         .fusion = {.before = 1, .residual = true, .after = 9}}}) {
        spec.type = type;
        spec.specials = true;
        EXPECT_GE(check_dense(spec, seed).size(), usable(type));
      }
}

// Products of bfloat16 are exact in float32, and so are sums of small whole numbers: what is left is one rounding.
TEST(Conv2dKernels, OfBfloat16AreExactOnWholeNumbers) {
  std::mt19937_64 random(3);
  for (const std::int64_t ic : {7, 64}) {
    KernelCase test = conv2d_case(
        {.ic = ic, .oc = 37, .spatial = {8, 9}, .kernel = {3, 3}, .pads = {1, 1, 1, 1}, .bias = false, .type = kBf16},
        random);
    const auto whole = [&](Array& array) {
      for (BFloat16& value : array.as<BFloat16>()) value = BFloat16(static_cast<float>(random() % 9) - 4);
    };
    whole(test.arrays[0]);
    Array weights = *test.graph.value(test.graph.nodes[0].inputs[1]).constant;
    whole(weights);
    test.graph.value(test.graph.nodes[0].inputs[1]).constant = std::make_shared<const Array>(std::move(weights));
    const Array wanted = evaluate(
        test.graph.nodes[0],
        std::vector<const Array*>{&test.arrays[0], test.graph.value(test.graph.nodes[0].inputs[1]).constant.get()})[0];
    int ran = 0;
    for (const CpuKernel& kernel : tested_kernels()) {
      if (kernel.info.op != Conv::kName || kernel.info.isa > host_isa() || !kernel.info.exact()) continue;
      const auto result = run_kernel(kernel, test);
      if (!std::holds_alternative<std::vector<Array>>(result)) continue;
      ++ran;
      EXPECT_EQ(std::get<std::vector<Array>>(result)[0].to_double(), wanted.to_double()) << kernel.info.name;
    }
    EXPECT_GE(ran, 2);
  }
}

TEST(Conv2dKernels, PoolBeforeAnyoneSees) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const ElementType type = seed % 3 == 0 ? kBf16 : kF32;
    EXPECT_GE(check_dense({.n = 2,
                           .ic = 3,
                           .oc = 19,
                           .spatial = {13, 14},
                           .kernel = {3, 3},
                           .pads = {1, 1, 1, 1},
                           .specials = seed % 4 == 0,
                           .fusion = {.before = static_cast<int>(seed % 2), .residual = seed % 4 == 3, .pool = true},
                           .type = type},
                          seed)
                  .size(),
              usable(type));
  }
}

TEST(Conv2dKernels, SayWhyTheyRefuse) {
  const auto reason = [](const Conv2dSpec& spec) -> std::string {
    std::mt19937_64 random(1);
    const KernelCase test = conv2d_case(spec, random);
    for (const CpuKernel& kernel : kernels())
      if (kernel.info.name == "conv2d_f32_4x8_portable") {
        const auto result = run_kernel(kernel, test);
        return std::holds_alternative<Refusal>(result) ? std::get<Refusal>(result).message : "accepted";
      }
    return "no such kernel";
  };
  EXPECT_EQ(reason({.ic = 8, .oc = 8, .spatial = {5, 5}, .kernel = {3, 3}, .groups = 8}),
            "depthwise: has kernels of its own");
  EXPECT_EQ(reason({.ic = 8, .oc = 8, .spatial = {5, 5, 5}, .kernel = {3, 3, 3}}), "3 spatial dimensions, not 1 or 2");
  EXPECT_EQ(reason({.ic = 8, .oc = 8, .spatial = {5, 5}, .kernel = {3, 3}, .type = kBf16}),
            "stores float32, the input is bfloat16");
}

TEST(Conv2dKernels, AgreeOnRandomProblems) {
  fuzz([](std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Conv2dSpec spec;
    spec.n = 1 + below(3);
    spec.groups = pick({1, 1, 1, 2, 3}, random);
    spec.ic = spec.groups * (1 + below(pick({4, 20, 70}, random)));
    spec.oc = spec.groups * (1 + below(pick({4, 20, 70}, random)));
    if (spec.groups > 1 && spec.ic == spec.groups && spec.oc == spec.ic) spec.oc *= 2;
    const std::size_t rank = random() % 4 == 0 ? 1 : 2;
    std::vector<std::int64_t> ends;
    for (std::size_t d = 0; d < rank; ++d) {
      spec.kernel.push_back(1 + below(4));
      spec.strides.push_back(1 + below(3));
      spec.dilations.push_back(1 + below(2));
      spec.pads.push_back(below(3));
      ends.push_back(below(3));
      const std::int64_t reach = (spec.kernel[d] - 1) * spec.dilations[d] + 1;
      spec.spatial.push_back(std::max<std::int64_t>(1, reach - spec.pads[d] - ends[d]) + below(9));
    }
    spec.pads.insert(spec.pads.end(), ends.begin(), ends.end());
    spec.bias = random() % 2;
    spec.type = random() % 2 == 0 ? kBf16 : kF32;
    spec.specials = random() % 4 == 0;
    const int activations = spec.specials ? 1 : kActivations;
    spec.fusion = {.before = static_cast<int>(below(activations + 1)),
                   .residual = random() % 2 == 0,
                   .after = static_cast<int>(below(activations + 1)),
                   .pool = random() % 4 == 0};
    EXPECT_GE(check_dense(spec, random()).size(), usable(spec.type));
  });
}

}  // namespace
}  // namespace tessera::cpu
