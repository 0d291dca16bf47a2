#include "tests/targets/cpu/conv2d_case.h"
#include "tests/targets/cpu/fuzz.h"

#include "tessera/core/isa.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

std::vector<const CpuKernel*> usable() {
  std::vector<const CpuKernel*> list;
  for (const CpuKernel& kernel : kernels())
    if (kernel.info.name.starts_with("pointwise_") && kernel.info.isa <= host_isa()) list.push_back(&kernel);
  return list;
}

// All kernels of the family take it and agree with the definition.
void expect_all(const Conv2dSpec& spec, std::uint64_t seed = 1) {
  const std::vector<std::string> names = check_spec(spec, seed);
  EXPECT_EQ(std::ranges::count_if(names, [](const std::string& name) { return name.starts_with("pointwise_"); }),
            std::ssize(usable()));
}

TEST(Pointwise, AgreesOnEveryNumberOfPixelsOfATile) {
  for (std::int64_t width = 1; width <= 70; ++width)
    expect_all({.n = 2, .ic = 5, .oc = 17, .spatial = {1, width}, .kernel = {1, 1}});
}

TEST(Pointwise, AgreesOnEveryNumberOfChannelsOfAPanel) {
  for (std::int64_t oc = 1; oc <= 45; ++oc) expect_all({.ic = 3, .oc = oc, .spatial = {5, 7}, .kernel = {1, 1}});
}

TEST(Pointwise, AgreesOnOddNumbersOfInputChannels) {
  for (const std::int64_t ic : {1, 2, 15, 64, 129, 1030})
    expect_all({.ic = ic, .oc = 33, .spatial = {3, 23}, .kernel = {1, 1}});
}

// Blocks of pixels, shares of the panels, and images.
TEST(Pointwise, AgreesHoweverTheWorkIsCut) {
  expect_all({.n = 3, .ic = 40, .oc = 60, .spatial = {14, 14}, .kernel = {1, 1}});
  expect_all({.ic = 1500, .oc = 30, .spatial = {15, 15}, .kernel = {1, 1}});
  expect_all({.ic = 70, .oc = 600, .spatial = {7, 7}, .kernel = {1, 1}});
  expect_all({.ic = 300, .oc = 9, .spatial = {64, 64}, .kernel = {1, 1}});
}

TEST(Pointwise, AgreesOnOneDimension) { expect_all({.n = 2, .ic = 7, .oc = 20, .spatial = {31}, .kernel = {1}}); }

TEST(Pointwise, AgreesOnEveryEpilogue) {
  for (int before = 0; before <= kActivations; ++before)
    for (int after = -1; after <= kActivations; ++after)
      expect_all({.ic = 9,
                  .oc = 35,
                  .spatial = {6, 9},
                  .kernel = {1, 1},
                  .bias = before % 2 == 0,
                  .fusion = {.before = before, .residual = after >= 0, .after = std::max(after, 0)}});
}

TEST(Pointwise, PassesInfinitiesAndNanToExactlyTheRightResults) {
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    expect_all({.ic = 33,
                .oc = 18,
                .spatial = {9, seed % 2 ? 8 : 6},
                .kernel = {1, 1},
                .specials = true,
                .fusion = {.before = 1, .residual = seed % 4 < 2, .after = 9}},
               seed);
}

TEST(Pointwise, SaysWhyItRefuses) {
  const auto reason = [](const Conv2dSpec& spec) -> std::string {
    std::mt19937_64 random(1);
    const auto result = run_kernel(*usable().at(0), conv2d_case(spec, random));
    return std::holds_alternative<Refusal>(result) ? std::get<Refusal>(result).message : "accepted";
  };
  EXPECT_EQ(reason({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {3, 1}}), "a kernel of 3x1, not 1x1");
  EXPECT_EQ(reason({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {1, 1}, .strides = {2, 1}}), "strides 2x1");
  EXPECT_EQ(reason({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {1, 1}, .pads = {0, 0, 1, 0}}), "padded");
  EXPECT_EQ(reason({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {1, 1}, .groups = 2}), "2 groups");
  EXPECT_EQ(reason({.ic = 4, .oc = 4, .spatial = {9, 9}, .kernel = {1, 1}, .fusion = {.pool = true}}),
            "cannot apply a fused pool");
}

TEST(Pointwise, Fuzz) {
  fuzz([](std::mt19937_64& random) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Conv2dSpec spec;
    spec.n = 1 + below(4), spec.ic = 1 + below(90), spec.oc = 1 + below(90);
    spec.spatial = {1 + below(20), 1 + below(20)};
    spec.kernel = {1, 1};
    spec.bias = random() % 2;
    spec.specials = random() % 4 == 0;
    const int activations = spec.specials ? 1 : kActivations;
    spec.fusion = {.before = static_cast<int>(below(activations + 1)),
                   .residual = random() % 2 == 0,
                   .after = static_cast<int>(below(activations + 1))};
    expect_all(spec, random());
  });
}

}  // namespace
}  // namespace tessera::cpu
