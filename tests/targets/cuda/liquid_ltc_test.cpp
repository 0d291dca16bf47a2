#include "tests/targets/cuda/conv2d_case.h"
#include "tests/targets/cuda/liquid_case.h"
#include "tests/targets/cuda/liquid_device.h"

#include "tessera/core/error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace tessera::cuda {
namespace {

#define TSR_LTC_NEEDS_DEVICE() \
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why

LtcProblem ltc(int batch, int steps, int inputs, int units, int unfolds = 6) {
  return {.batch = batch, .steps = steps, .inputs = inputs, .units = units, .unfolds = unfolds};
}

TEST(CudaLtc, MatchesTheDefinitionWithEverySolver) {
  TSR_LTC_NEEDS_DEVICE();
  for (const Ltc::Solver solver : {Ltc::Solver::semi_implicit, Ltc::Solver::explicit_euler, Ltc::Solver::runge_kutta})
    for (const int unfolds : {1, 2, 6}) {
      LtcProblem p = ltc(5, 4, 6, 12, unfolds);
      p.solver = solver;
      EXPECT_EQ(check_kernels(LtcCase{.name = fmt::format("{} unfolds", unfolds), .problem = p, .first_state = true}),
                12);
    }
}

// Small enough for compute-sanitizer.
TEST(CudaLtc, RunsASmallLayerWithEveryKernel) {
  TSR_LTC_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(LtcCase{.name = "small", .problem = ltc(3, 2, 2, 9, 2), .first_state = true, .absent = 0.3}),
            12);
}

TEST(CudaLtc, MatchesTheDefinitionOnOddSizes) {
  TSR_LTC_NEEDS_DEVICE();
  for (const auto& [batch, steps, inputs, units] :
       {std::array{1, 1, 1, 1}, std::array{3, 2, 1, 7}, std::array{17, 2, 33, 5}, std::array{2, 9, 4, 65},
        std::array{9, 1, 2, 33}, std::array{1, 50, 3, 16}})
    EXPECT_GE(check_kernels(LtcCase{.name = fmt::format("{} {} {} {}", batch, steps, inputs, units),
                                    .problem = ltc(batch, steps, inputs, units, 2),
                                    .absent = 0.3}),
              3);
}

TEST(CudaLtc, TakesWiringsWithoutSomeSynapsesOrAny) {
  TSR_LTC_NEEDS_DEVICE();
  for (const double absent : {0.0, 0.7, 1.0})
    EXPECT_EQ(check_kernels(LtcCase{.name = "absent", .problem = ltc(4, 5, 6, 19), .absent = absent}), 12);
}

TEST(CudaLtc, TakesTimesInEveryForm) {
  TSR_LTC_NEEDS_DEVICE();
  for (const bool batch_first : {true, false}) {
    LtcProblem p = ltc(10, 4, 3, 11, 3);
    p.batch_first = batch_first;
    for (const LiquidTimes times : {LiquidTimes::each_step, LiquidTimes::each_unit}) {
      p.times = times;
      EXPECT_EQ(check_kernels(LtcCase{.name = "times", .problem = p, .first_state = true}), 12);
    }
    p.times = LiquidTimes::each_step;
    EXPECT_EQ(check_kernels(LtcCase{.name = "one time", .problem = p, .one_time = true}), 12);
  }
}

TEST(CudaLtc, ReadsSynapsesFromL2WhereTheyDoNotFit) {
  TSR_LTC_NEEDS_DEVICE();
  LtcProblem p = ltc(2, 2, 4, 300, 1);
  p.sensory_fan_in = 4;
  p.recurrent_fan_in = 300;
  const LtcAnswer answer = consider(ltc_rows()[0], p, liquid_gpu().spec, 1);
  ASSERT_FALSE(std::get<LtcOffer>(answer).resident);
  EXPECT_EQ(check_kernels(LtcCase{"300 units", p}), 12);
  EXPECT_EQ(check_kernels(LtcCase{.name = "700 units, wired", .problem = ltc(1, 1, 2, 700, 1), .absent = 0.95}), 12);
}

TEST(CudaLtc, SaturatesAsTheDefinition) {
  TSR_LTC_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(LtcCase{.name = "steep", .problem = ltc(4, 6, 5, 14, 1), .values = LiquidValues::saturating}),
            12);
}

TEST(CudaLtc, PassesInfinitiesAndNanOn) {
  TSR_LTC_NEEDS_DEVICE();
  for (std::uint64_t seed = 1; seed < 4; ++seed)
    EXPECT_EQ(
        check_kernels(
            LtcCase{
                .name = "specials", .problem = ltc(5, 6, 7, 13, 2), .absent = 0.5, .values = LiquidValues::specials},
            seed),
        12);
}

TEST(CudaLtc, KeepsToTheDefinitionOverLongSequences) {
  TSR_LTC_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(LtcCase{"500 steps", ltc(2, 500, 3, 9)}), 12);
}

TEST(CudaLtc, AnEmptyBatchLaunchesNothing) {
  TSR_LTC_NEEDS_DEVICE();
  EXPECT_EQ(check_kernels(LtcCase{"empty", ltc(0, 3, 4, 8)}), 12);
}

// --- without a device ------------------------------------------------------------------------------------------------

TEST(CudaLtc, CountsTheMostSynapsesOfAUnit) {
  LtcProblem p = ltc(1, 1, 2, 3);
  std::vector<float> sensory(4 * 2 * 3), recurrent(4 * 3 * 3), membrane(9);
  sensory[0 * 3 + 1] = sensory[1 * 3 + 1] = sensory[0 * 3 + 2] = 1;  // unit 1 hears both inputs
  recurrent[2 * 3 + 0] = 1;
  set_fan_in(p, {membrane, sensory, recurrent});
  EXPECT_EQ(p.sensory_fan_in, 2);
  EXPECT_EQ(p.recurrent_fan_in, 1);
}

TEST(CudaLtc, PlansAndRefusesWithNumbers) {
  const GpuSpec gpu = *load_machine_file(TESSERA_MACHINES_DIR "/nvidia_h200.toml").gpu;
  LtcProblem p = ltc(32, 128, 16, 64);
  p.sensory_fan_in = 16;
  p.recurrent_fan_in = 64;
  const LtcPlan plan = plan_ltc(p, gpu);
  ASSERT_NE(plan.row, nullptr);
  EXPECT_TRUE(plan.offer.resident);
  p.inputs = 100000;
  p.sensory_fan_in = 1;
  const LtcAnswer answer = consider(ltc_rows()[0], p, gpu);
  EXPECT_EQ(std::get<LtcRefusal>(answer).reason, LtcRefusal::Reason::shared_memory);
  const LtcAnswer narrow = consider(ltc_rows()[0], ltc(1, 1, 1, 2), gpu, 4);
  EXPECT_EQ(std::get<LtcRefusal>(narrow).text(), "4 blocks are more than the 2 units");
  try {
    check_problem(ltc(1, 1, 1, 2, 0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "ltc: 1 samples, 1 steps, 1 inputs, 2 units, 0 unfolds: every size but the batch is at least 1");
  }
}

}  // namespace
}  // namespace tessera::cuda
