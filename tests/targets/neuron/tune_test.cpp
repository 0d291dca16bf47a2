#include "tessera/targets/neuron/plan/tune.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/neuron/emit/emit_nki.h"
#include "tessera/targets/neuron/kernels/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tessera::neuron {
namespace {

constexpr ElementType kF32 = ElementType::float32, kF16 = ElementType::float16;

const NeuronSpec& trainium2() {
  static const Machine machine = load_machine(TESSERA_MACHINES_DIR "/trainium2.toml");
  return neuron_of(machine);
}

TEST(TuneLong, LargeImagesComeWithinFifteenPercentOfTheBound) {
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

TEST(Tune, ColumnsThatNoOutputNeedsDoNotCountAsWork) {
  const ConvProblem p{.h = 32, .w = 224, .type = kF16};
  const Profile flat = run_conv(trainium2(), p, ConvSchedule{}).profile;
  EXPECT_GT(flat.matmul_flops, p.flops());
  EXPECT_DOUBLE_EQ(flat.mfu(), p.flops() / (trainium2().fp16_flop_per_s * flat.total_ns * 1e-9));
}

// float32 needs 25.2 us of the PE array alone, and starting a kernel takes 10: 30 us are out of reach for it.
TEST(Tune, SmallImagesInFloat16TakeAtMostThirtyMicroseconds) {
  for (const ConvProblem& p : ladder_cases()) {
    if (p.h == 224) continue;
    const ConvTuning tuning = tune_conv(trainium2(), p);
    const double us = tuning.winner().profile->total_us();
    if (p.type == kF16) {
      EXPECT_LE(us, 30) << tuning.winner().schedule.text();
    }
    EXPECT_LT(us, run_conv(trainium2(), p, conv_step("small").run).profile.total_us());
    EXPECT_GE(us, tuning.bound.floor_ns() / 1000);
    if (p.type == kF32) {
      EXPECT_GT(tuning.bound.floor_ns(), 30e3);
      EXPECT_LE(tuning.floor_ratio(), 1.35) << tuning.winner().schedule.text();
    }
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
    for (const WindowAccess window :
         {WindowAccess::flat, WindowAccess::strided, WindowAccess::copied, WindowAccess::shared})
      for (const bool share : {true, false}) {
        const ConvSchedule other{.rows = p.pool,
                                 .joined = 3,
                                 .blocks = 2,
                                 .share_image = share,
                                 .window = window,
                                 .cutting = Cutting::both,
                                 .slicing = Slicing::direct,
                                 .eviction = Eviction::both,
                                 .pooling = Engine::vector};
        if (refusal(trainium2(), p, other)) continue;
        EXPECT_EQ(*run_conv(trainium2(), x, w, bias, p.pool, other).y, *run_conv(trainium2(), x, w, bias, p.pool, s).y);
      }
  }
}

// Whatever is bound by products or bytes for more than a quarter of a millisecond.
TEST(TuneLong, LargeImagesOfAnyLegalShapeComeWithinFifteenPercentOfTheBound) {
  std::mt19937 random(23);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  int large = 0;
  for (int i = 0; i < 400 && large < 8; ++i) {
    ConvProblem p;
    p.n = pick(1, 4);
    p.ic = 128 * pick(1, 3);
    p.oc = 128 * pick(1, 3);
    p.k = 2 * pick(0, 3) + 1;
    p.pool = pick(1, 2);
    p.h = p.k - 1 + p.pool * pick(8, 110);
    p.w = p.k - 1 + p.pool * pick(8, 512 / static_cast<int>(p.pool));
    p.type = pick(0, 1) == 0 ? kF32 : kF16;
    // ScalarE empties PSUM at half of the rate at which the array fills it, and somebody has to pool: with fewer
    // products to a sum those bound.
    const std::int64_t products = p.ic / 128 * p.k * p.k * (p.type == kF32 ? 4 : 1);
    const double bound = conv_bound(trainium2(), p).ns();
    if (products < 4 || bound < 250e3 || bound > 2e6) continue;
    ++large;
    const ConvTuning tuning = tune_conv(trainium2(), p);
    EXPECT_LE(tuning.ratio(), 1.15) << p.text() << ": " << tuning.winner().schedule.text();
  }
  EXPECT_EQ(large, 8);
}

TEST(Tune, PoolsRowsThatDoNotFitOneAccumulationTogether) {
  for (const ElementType type : {kF32, kF16}) {
    const ConvProblem p{.ic = 128, .oc = 128, .h = 6, .w = 514, .k = 3, .pool = 2, .type = type};
    const ConvTuning tuning = tune_conv(trainium2(), p);
    EXPECT_EQ(tuning.winner().schedule.rows, 1);
    // The same without a pool, pooled by hand.
    std::mt19937 random(3);
    const auto array = [&](std::vector<std::int64_t> shape) {
      Kernel cast(trainium2(), {.time = false});
      Array wide(kF32, Shape(shape));
      for (float& each : wide.as<float>()) each = std::uniform_real_distribution<float>(-1, 1)(random);
      const View y = cast.output("y", type, shape);
      cast.dma_copy(y, cast.input("x", wide));
      return cast.read(y);
    };
    const Array x = array(p.x_shape()), w = array(p.w_shape()), bias = array({p.oc});
    const std::vector<double> plain = run_conv(trainium2(), x, w, bias, 1, conv_step("native").run).y->to_double();
    for (const Eviction way : {Eviction::scalar, Eviction::vector, Eviction::both}) {
      ConvSchedule s = tuning.winner().schedule;
      s.eviction = way;
      const std::vector<double> y = run_conv(trainium2(), x, w, bias, 2, s).y->to_double();
      ASSERT_EQ(y.size(), 128U * 2 * 256);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t at = i / 256 * 2 * 512 + i % 256 * 2;
        ASSERT_EQ(y[i], std::max({plain[at], plain[at + 1], plain[at + 512], plain[at + 513]})) << i;
      }
    }
  }
}

TEST(Tune, KeepsTheReasonOfEveryRefusal) {
  ConvProblem p{.ic = 512, .oc = 512, .h = 8, .w = 300, .k = 7};
  const ConvTuning tuning = tune_conv(trainium2(), p);
  int refused = 0;
  for (const ConvTrial& trial : tuning.trials) {
    EXPECT_NE(trial.profile.has_value(), trial.refused.has_value());
    refused += trial.refused.has_value();
    if (trial.refused && trial.refused->out_of_memory()) {
      EXPECT_EQ(trial.refused->shortage, Shortage::sbuf);
      EXPECT_GT(trial.refused->requested_bytes, trial.refused->largest_free_bytes);
      EXPECT_GE(trial.refused->free_bytes, trial.refused->largest_free_bytes);
    }
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
  s.joined = 3;
  const std::string flat = nki_script({.type = kF16}, s);
  EXPECT_THAT(flat, testing::HasSubstr("SUMMED = 2 "));
  EXPECT_THAT(flat, testing::HasSubstr("\nROWS = 6 "));
  EXPECT_THAT(flat, testing::HasSubstr("BLOCKS = 8 "));
  EXPECT_THAT(flat, testing::HasSubstr("run = (rows - 1) * WIDTH + OW"));
  s.window = WindowAccess::copied;
  EXPECT_THAT(nki_script({}, s), testing::HasSubstr("cut(tiles[ic], row - first + part, rows, tap))"));
  s.rows = s.joined = 1;
  EXPECT_THAT(nki_script({.pool = 2}, s), testing::HasSubstr("\nROWS = 2 "));
}

}  // namespace
}  // namespace tessera::neuron
