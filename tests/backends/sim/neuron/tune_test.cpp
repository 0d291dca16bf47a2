#include "tessera/backends/sim/neuron/tune.h"

#include "tessera/backends/sim/neuron/emit_nki.h"
#include "tessera/backends/sim/neuron/ladder.h"
#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tessera::neuron {
namespace TSR_FILE {

constexpr ElementType kF32 = ElementType::float32, kF16 = ElementType::float16;

const NeuronSpec& trainium2() {
  static const Machine machine = load_machine(TESSERA_MACHINES_DIR "/trainium2.toml");
  return neuron_of(machine);
}

TEST(Tune, LargeImagesComeWithinFifteenPercentOfTheBound) {
  for (const ConvProblem& p : ladder_cases()) {
    if (p.h != 224) continue;
    const ConvTuning tuning = tune_conv(trainium2(), p);
    EXPECT_LE(tuning.ratio(), 1.15) << p.text() << ": " << tuning.winner().schedule.text();
    EXPECT_GE(tuning.ratio(), 1) << p.text();
    EXPECT_LT(tuning.winner().profile->total_ns, run_conv(trainium2(), p, conv_step("native").run).profile.total_ns);
    if (p.type == kF16) {
      EXPECT_GE(tuning.winner().profile->mfu(), 0.9) << p.text();
    }
  }
}

// float32 needs 25.2 us of the PE array alone, and starting a kernel takes 10: 30 us are out of reach for it.
TEST(Tune, ColumnsThatNoOutputNeedsDoNotCountAsWork) {
  ConvProblem p;
  p.type = kF16;
  const Profile flat = run_conv(trainium2(), p, ConvSchedule{}).profile;
  EXPECT_GT(flat.matmul_flops, p.flops());
  EXPECT_DOUBLE_EQ(flat.mfu(), p.flops() / (trainium2().fp16_flop_per_s * flat.total_ns * 1e-9));
}

TEST(Tune, SmallImagesInFloat16TakeAtMostThirtyMicroseconds) {
  for (const ConvProblem& p : ladder_cases()) {
    if (p.h == 224) continue;
    const ConvTuning tuning = tune_conv(trainium2(), p);
    const double us = tuning.winner().profile->total_us();
    if (p.type == kF16) {
      EXPECT_LE(us, 30) << tuning.winner().schedule.text();
    }
    EXPECT_LT(us, run_conv(trainium2(), p, conv_step("small").run).profile.total_us());
    EXPECT_GE(us, (tuning.bound.ns() + trainium2().kernel_overhead_ns) / 1000);
  }
}

TEST(Tune, WinnersComputeTheSameAsTheLadderForAnyLegalShape) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  for (int i = 0; i < 10; ++i) {
    ConvProblem p;
    p.n = pick(1, 2);
    p.ic = 128 * pick(1, 2);
    p.oc = 128 * pick(1, 2);
    p.k = 2 * pick(0, 3) + 1;
    p.pool = pick(1, 2);
    p.h = p.k - 1 + p.pool * pick(1, 9);
    p.w = p.k - 1 + p.pool * pick(1, 30);
    p.type = pick(0, 1) == 0 ? kF32 : kF16;
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto array = [&](std::vector<std::int64_t> shape) {
      Kernel cast(trainium2(), {.time = false});  // rounds to the type
      Array wide(kF32, Shape(shape));
      for (float& each : wide.as<float>()) each = uniform(random);
      const View y = cast.output("y", p.type, shape);
      cast.dma_copy(y, cast.input("x", wide));
      return cast.read(y);
    };
    const Array x = array(p.x_shape()), w = array(p.w_shape()), bias = array({p.oc});
    const ConvSchedule s = tune_conv(trainium2(), p).winner().schedule;
    // Products are summed in the same order whatever the schedule, so not a bit differs.
    EXPECT_EQ(*run_conv(trainium2(), x, w, bias, p.pool, s).y,
              *run_conv(trainium2(), x, w, bias, p.pool, conv_step("native").run).y)
        << p.text() << ": " << s.text();
    for (const Window window : {Window::flat, Window::strided, Window::copied})
      for (const bool share : {true, false}) {
        ConvSchedule other{p.pool, 2, share, window, Slicing::direct, Engine::vector, Engine::vector};
        if (refusal(trainium2(), p, other)) continue;
        EXPECT_EQ(*run_conv(trainium2(), x, w, bias, p.pool, other).y, *run_conv(trainium2(), x, w, bias, p.pool, s).y);
      }
  }
}

TEST(Tune, KeepsTheReasonOfEveryRefusal) {
  ConvProblem p{.ic = 512, .oc = 512, .h = 20, .w = 300, .k = 7};
  const ConvTuning tuning = tune_conv(trainium2(), p);
  int refused = 0;
  for (const ConvTrial& trial : tuning.trials) {
    EXPECT_NE(trial.profile.has_value(), !trial.refused.empty());
    refused += !trial.refused.empty();
  }
  EXPECT_GT(refused, 0);
  EXPECT_FALSE(tuning.winner().schedule.share_image);  // all weights would be 49 * 4 * 4 * 512 bytes of a partition
}

TEST(Tune, SaysThatNothingFits) {
  try {
    tune_conv(trainium2(), {.ic = 2048, .oc = 128, .h = 20, .w = 300, .k = 7});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_THAT(error.what(), testing::HasSubstr("do not stay in SBUF"));
  }
}

TEST(Tune, EmitsTheScheduleItFound) {
  ConvSchedule s;
  s.rows = 2;
  s.blocks = 8;
  const std::string flat = nki_script({.type = kF16}, s);
  EXPECT_THAT(flat, testing::HasSubstr("ROWS = 2 "));
  EXPECT_THAT(flat, testing::HasSubstr("BLOCKS = 8 "));
  EXPECT_THAT(flat, testing::HasSubstr("run = (rows - 1) * WIDTH + OW"));
  s.window = Window::copied;
  EXPECT_THAT(nki_script({}, s), testing::HasSubstr("window = nisa.tensor_copy(window)"));
}

}  // namespace TSR_FILE
}  // namespace tessera::neuron
