#include "tests/targets/cpu/conv2d_case.h"
#include "tests/targets/cpu/fuzz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tessera::cpu {
namespace {

Conv2dSpec depthwise(std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t kernel,
                     std::int64_t stride, std::int64_t pad) {
  Conv2dSpec spec;
  spec.ic = spec.oc = spec.groups = channels;
  spec.spatial = {height, width};
  spec.kernel = {kernel, kernel};
  spec.strides = {stride, stride};
  spec.pads = {pad, pad, pad, pad};
  return spec;
}

std::size_t planes_among(const std::vector<std::string>& names) { return count_of(names, "depthwise_planes"); }

TEST(DepthwisePlanes, AgreesForTheWindowsOfNetworks) {
  for (const std::int64_t size : {1, 7, 8, 14, 15, 16, 17, 33, 50})
    for (const auto& [kernel, stride, pad] :
         {std::tuple{3, 1, 1}, {3, 2, 1}, {5, 1, 2}, {5, 2, 2}, {7, 1, 3}, {7, 2, 3}})
      EXPECT_EQ(planes_among(check_spec(depthwise(3, size, size, kernel, stride, pad))), vector_sets())
          << size << " pixels, window " << kernel << ", stride " << stride;
}

TEST(DepthwisePlanes, AgreesForOddWindowsPadsAndBatches) {
  for (const std::int64_t width : {5, 19, 40}) {
    Conv2dSpec spec = depthwise(5, 9, width, 3, 1, 1);
    spec.n = 3;
    spec.pads = {0, 4, 5, 7};  // more than the window has
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
    spec.strides = {2, 2};
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
    spec.strides = {3, 1};
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
    spec.kernel = {2, 4}, spec.strides = {1, 2}, spec.bias = false;
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
    spec.kernel = {1, 1}, spec.strides = {1, 1}, spec.pads = {0, 0, 0, 0};
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
  }
  Conv2dSpec line;
  line.ic = line.oc = line.groups = 6;
  line.spatial = {37}, line.kernel = {3}, line.pads = {1, 1};
  EXPECT_EQ(planes_among(check_spec(line)), vector_sets());
}

TEST(DepthwisePlanes, AppliesWhatIsFused) {
  for (const std::int64_t stride : {1, 2})
    for (int before = 0; before <= kActivations; ++before) {
      Conv2dSpec spec = depthwise(4, 10, 21, 3, stride, 1);
      spec.fusion = {before, false, 0, false};
      EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
      spec.fusion = {before, true, before, false};
      EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
    }
}

TEST(DepthwisePlanes, PassesOnWhatIsNotANumberAndNothingElse) {
  for (const auto& [kernel, stride] : {std::tuple{3, 1}, {3, 2}, {5, 1}, {5, 2}, {4, 1}}) {
    Conv2dSpec spec = depthwise(7, 18, 37, kernel, stride, kernel / 2);
    spec.specials = true;
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
    spec.fusion.before = 1;
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
  }
}

TEST(DepthwisePlanes, RefusesDilationsLargeStridesPoolsAndWeightsThatAreNotFinite) {
  Conv2dSpec spec = depthwise(4, 20, 20, 3, 1, 1);
  spec.dilations = {1, 2};
  EXPECT_EQ(planes_among(check_spec(spec)), 0u);
  EXPECT_EQ(planes_among(check_spec(depthwise(4, 20, 20, 3, 3, 1))), 0u);
  spec = depthwise(4, 20, 20, 3, 1, 1);
  spec.fusion.pool = true;
  EXPECT_EQ(planes_among(check_spec(spec)), 0u);
  spec = depthwise(4, 20, 20, 3, 1, 1);
  spec.groups = 2;
  EXPECT_EQ(planes_among(check_spec(spec)), 0u);
  std::mt19937_64 random(1);
  KernelCase test = conv2d_case(depthwise(4, 8, 8, 3, 1, 1), random);
  Array w = *test.graph.value(1).constant;
  w.as<float>()[0] = std::numeric_limits<float>::infinity();
  test.graph.value(1).constant = std::make_shared<const Array>(w);
  EXPECT_EQ(planes_among(expect_kernels_agree(test)), 0u);
}

TEST(DepthwisePlanes, AgreesForRandomProblems) {
  for (Fuzz fuzz; fuzz.next();) {
    Conv2dSpec spec = depthwise(fuzz.pick(1, 9), fuzz.pick(7, 40), fuzz.pick(7, 70), 1, 1, 0);
    const std::int64_t side = fuzz.pick(1, 7);
    spec.n = fuzz.pick(1, 2);
    spec.kernel = {side, fuzz.pick(0, 1) ? side : fuzz.pick(1, 7)};
    spec.strides = {fuzz.pick(1, 2), fuzz.pick(1, 2)};
    spec.pads = {fuzz.pick(0, 4), fuzz.pick(0, 4), fuzz.pick(0, 4), fuzz.pick(0, 4)};
    spec.bias = fuzz.pick(0, 1) != 0;
    spec.specials = fuzz.pick(0, 3) == 0;
    spec.fusion = {static_cast<int>(fuzz.pick(0, 3)), fuzz.pick(0, 1) != 0, 0, false};
    EXPECT_EQ(planes_among(expect_kernels_agree(conv2d_case(spec, fuzz.random))), vector_sets());
  }
}

}  // namespace
}  // namespace tessera::cpu
