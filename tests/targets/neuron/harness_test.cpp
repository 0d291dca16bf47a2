#include "tessera/targets/neuron/kernels/harness.h"

#include "tessera/machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::neuron {
namespace {

constexpr ElementType kF32 = ElementType::float32, kF16 = ElementType::float16, kBf16 = ElementType::bfloat16;

const NeuronSpec& trainium2() {
  static const Machine machine = load_machine(TESSERA_MACHINES_DIR "/trainium2.toml");
  return neuron_of(machine);
}

void expect_right(const HarnessCase& c, std::string_view step, std::int64_t row_step) {
  const HarnessResult result = run_harness(trainium2(), c, conv_step(step).run, row_step);
  EXPECT_TRUE(result.ok()) << c.name << ", " << step << ", " << c.problem.text() << ": " << result.wrong << " of "
                           << result.compared << " are wrong, the first " << result.first_wrong;
}

TEST(Harness, HasTheCasesOfTheAssignment) {
  const std::vector<HarnessCase> cases = harness_cases(kF32);
  ASSERT_EQ(cases.size(), 7U);
  for (const HarnessCase& each : cases) {
    EXPECT_EQ(each.problem.n, 4);
    EXPECT_EQ(each.problem.k, 3);
  }
  EXPECT_EQ(cases[4].problem.pool, 1);
  EXPECT_FALSE(cases[4].bias);
  EXPECT_TRUE(cases[5].bias);
  EXPECT_EQ(cases[6].problem.pool, 2);
}

TEST(Harness, SmallImagesAreRight) {
  for (const ElementType type : {kF32, kF16})
    for (const HarnessCase& each : harness_cases(type))
      if (each.problem.h == 32) expect_right(each, "native", 31);
}

// One image of each; `tessera trainium conv2d --check` takes all four.
void expect_large_images_right(ElementType type) {
  for (HarnessCase each : harness_cases(type)) {
    each.problem.n = 1;
    if (each.problem.h == 224) expect_right(each, "native", 149);
  }
}
TEST(HarnessLong, LargeImagesAreRightInFloat32) { expect_large_images_right(kF32); }
TEST(HarnessLong, LargeImagesAreRightInFloat16) { expect_large_images_right(kF16); }

TEST(Harness, EveryElementOfAnOddImageIsRight) {
  for (const ElementType type : {kF32, kF16, kBf16})
    expect_right({"odd", {.n = 2, .ic = 128, .oc = 128, .h = 8, .w = 13, .k = 5, .pool = 1, .type = type}, true},
                 "independent", 1);
}

TEST(Harness, FindsWhatIsWrong) {
  HarnessCase c{"narrow sums", {.ic = 256, .oc = 128, .h = 8, .w = 16, .type = kF16}, true};
  const HarnessResult narrow = run_harness(trainium2(), c, conv_step("baseline").run);
  EXPECT_FALSE(narrow.ok());
  EXPECT_GT(narrow.worst, 1);
  EXPECT_THAT(narrow.first_wrong, testing::HasSubstr("not "));
  // A kernel that leaves the last row out: it is NaN.
  const HarnessResult nan = run_harness(trainium2(), {"rows", {.ic = 128, .oc = 128, .h = 4, .w = 6, .k = 1}, false},
                                        [](Kernel& k, const ConvProblem& p, const ConvTensors& t) {
                                          ConvTensors most = t;
                                          ConvProblem less = p;
                                          --less.h;
                                          most.x = t.x.slice(2, 0, less.h);
                                          most.y = t.y.slice(2, 0, less.oh());
                                          conv_step("native").run(k, less, most);
                                        });
  EXPECT_EQ(nan.wrong, 128 * 6);
}

TEST(Harness, AsksForTheTimesOfTheAssignment) {
  const std::vector<HarnessLimit> limits = harness_limits();
  ASSERT_EQ(limits.size(), 8U);
  double points = 0, extra = 0;
  for (const HarnessLimit& each : limits) (each.extra ? extra : points) += each.points;
  EXPECT_DOUBLE_EQ(points, 50);
  EXPECT_DOUBLE_EQ(extra, 5);
  const HarnessLimit& half = limits[1];
  EXPECT_EQ(half.problem.type, kF16);
  EXPECT_EQ(half.problem.h, 224);
  EXPECT_EQ(half.verdict(1002), TimeVerdict::met);
  EXPECT_EQ(half.verdict(1002.1), TimeVerdict::relaxed);
  EXPECT_EQ(half.verdict(1365), TimeVerdict::relaxed);
  EXPECT_EQ(half.verdict(1365.1), TimeVerdict::missed);
  EXPECT_DOUBLE_EQ(half.earned(900), 17.5);
  EXPECT_DOUBLE_EQ(half.earned(1200), 0.9 * 17.5);
  EXPECT_DOUBLE_EQ(half.earned(2000), 0);
  EXPECT_EQ(limits[4].verdict(110), TimeVerdict::met);  // small images have one limit
  EXPECT_EQ(limits[4].verdict(111), TimeVerdict::missed);
}

TEST(Harness, TheLastStepIsFastEnoughAndTheFirstIsNot) {
  for (const HarnessLimit& each : harness_limits()) {
    if (each.problem.h == 224 && each.problem.pool == 2) continue;  // as long as without
    const double last = run_conv(trainium2(), each.problem, conv_step("native").run).profile.total_us();
    EXPECT_EQ(each.verdict(last), TimeVerdict::met) << each.problem.text() << ": " << last;
    if (each.extra) continue;
    const double first = run_conv(trainium2(), each.problem, conv_step("baseline").run).profile.total_us();
    EXPECT_EQ(each.verdict(first), TimeVerdict::missed) << each.problem.text() << ": " << first;
  }
}

TEST(Harness, ToleranceGrowsWithTheTypeAndTheSum) {
  const ConvProblem f32, f16{.type = kF16}, bf16{.type = kBf16};
  EXPECT_DOUBLE_EQ(harness_tolerance(f32, 576, 576), 1e-8 + 1e-5 * 576);
  // Half a unit in the last place of 576 in float16 is 0.25; the sums may add 2306 * 2^-24 of it, and no more.
  EXPECT_GT(harness_tolerance(f16, 576, 576), 576 * 0x1p-11);
  EXPECT_LT(harness_tolerance(f16, 576, 576), 0.25 + 0.125);
  EXPECT_GT(harness_tolerance(bf16, 576, 576), 2);
}

}  // namespace
}  // namespace tessera::neuron
