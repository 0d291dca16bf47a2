#include "tests/targets/cpu/conv2d_case.h"
#include "tests/targets/cpu/fuzz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace tessera::cpu {
namespace {

Conv2dSpec stem(std::int64_t ic, std::int64_t oc, std::int64_t height, std::int64_t width, std::int64_t kernel,
                std::int64_t stride, std::int64_t pad) {
  Conv2dSpec spec;
  spec.ic = ic, spec.oc = oc;
  spec.spatial = {height, width};
  spec.kernel = {kernel, kernel};
  spec.strides = {stride, stride};
  spec.pads = {pad, pad, pad, pad};
  return spec;
}

std::size_t planes_among(const std::vector<std::string>& names) { return count_of(names, "conv2d_planes"); }

TEST(Conv2dPlanes, AgreesForTheStemsOfNetworks) {
  for (const std::int64_t width : {2, 15, 40, 113})
    for (const std::int64_t oc : {16, 24, 64})
      for (const auto& [kernel, stride, pad] : {std::tuple{7, 2, 3}, {3, 2, 1}, {3, 1, 1}, {6, 2, 2}})
        EXPECT_EQ(planes_among(check_spec(stem(3, oc, 19, width, kernel, stride, pad))), 2 * vector_sets())
            << width << " pixels, window " << kernel << ", stride " << stride << ", " << oc << " channels";
}

TEST(Conv2dPlanes, AgreesForOddWindowsPadsAndBatches) {
  for (const std::int64_t width : {9, 33, 70})
    for (const std::int64_t oc : {1, 5, 17, 33, 49}) {
      Conv2dSpec spec = stem(2, oc, 9, width, 3, 1, 1);
      spec.n = 3;
      spec.pads = {0, 4, 5, 7};  // more than the window has
      EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
      spec.strides = {3, 2};
      EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
      spec.ic = 4, spec.kernel = {2, 4}, spec.strides = {1, 2}, spec.bias = false;
      EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
      spec.ic = 1, spec.kernel = {1, 1}, spec.strides = {4, 1}, spec.pads = {0, 0, 0, 0};
      EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
    }
  Conv2dSpec line;
  line.ic = 2, line.oc = 6;
  line.spatial = {37}, line.kernel = {3}, line.pads = {1, 1};
  EXPECT_EQ(planes_among(check_spec(line)), 2 * vector_sets());
}

TEST(Conv2dPlanes, AppliesWhatIsFused) {
  for (int before = 0; before <= kActivations; ++before) {
    Conv2dSpec spec = stem(3, 21, 14, 39, 3, 2, 1);
    spec.n = 2;
    spec.fusion.before = before;
    EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
    spec.fusion.pool = true;  // to channels last only
    EXPECT_EQ(planes_among(check_spec(spec)), vector_sets());
  }
}

TEST(Conv2dPlanes, PassesOnWhatIsNotANumberAndNothingElse) {
  for (const auto& [kernel, stride] : {std::tuple{3, 1}, {3, 2}, {7, 2}, {4, 1}}) {
    Conv2dSpec spec = stem(3, 20, 18, 47, kernel, stride, kernel / 2);
    spec.specials = true;
    EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
    spec.fusion.before = 1;
    EXPECT_EQ(planes_among(check_spec(spec)), 2 * vector_sets());
  }
}

TEST(Conv2dPlanes, RefusesWhatItWouldGetWrong) {
  EXPECT_EQ(planes_among(check_spec(stem(5, 8, 20, 20, 3, 1, 1))), 0u);
  EXPECT_EQ(planes_among(check_spec(stem(3, 8, 20, 20, 8, 1, 1))), 0u);
  EXPECT_EQ(planes_among(check_spec(stem(3, 8, 20, 20, 3, 3, 1))), 0u);
  Conv2dSpec spec = stem(3, 8, 20, 20, 3, 1, 1);
  spec.dilations = {2, 1};
  EXPECT_EQ(planes_among(check_spec(spec)), 0u);
  spec = stem(4, 8, 20, 20, 3, 1, 1);
  spec.groups = 2;
  EXPECT_EQ(planes_among(check_spec(spec)), 0u);
  spec = stem(3, 8, 20, 20, 3, 1, 1);
  spec.fusion.residual = true;
  EXPECT_EQ(planes_among(check_spec(spec)), 0u);
  std::mt19937_64 random(1);
  KernelCase test = conv2d_case(stem(3, 8, 8, 8, 3, 1, 0), random);
  Array w = *test.graph.value(1).constant;
  w.as<float>()[0] = std::numeric_limits<float>::infinity();
  test.graph.value(1).constant = std::make_shared<const Array>(w);
  EXPECT_EQ(planes_among(expect_kernels_agree(test)), 0u);
}

TEST(Conv2dPlanes, AgreesForRandomProblems) {
  for (Fuzz fuzz; fuzz.next();) {
    Conv2dSpec spec = stem(fuzz.pick(1, 4), fuzz.pick(1, 70), fuzz.pick(7, 30), fuzz.pick(7, 130), 1, 1, 0);
    spec.n = fuzz.pick(1, 2);
    spec.kernel = {fuzz.pick(1, 7), fuzz.pick(1, 7)};
    spec.strides = {fuzz.pick(1, 3), fuzz.pick(1, 2)};
    spec.pads = {fuzz.pick(0, 4), fuzz.pick(0, 4), fuzz.pick(0, 4), fuzz.pick(0, 4)};
    spec.bias = fuzz.pick(0, 1) != 0;
    spec.specials = fuzz.pick(0, 3) == 0;
    spec.fusion.before = static_cast<int>(fuzz.pick(0, 3));
    EXPECT_EQ(planes_among(expect_kernels_agree(conv2d_case(spec, fuzz.random))), 2 * vector_sets());
  }
}

}  // namespace
}  // namespace tessera::cpu
