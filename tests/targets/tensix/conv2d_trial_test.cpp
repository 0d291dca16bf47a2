#include "tessera/targets/tensix/ops/conv2d/conv2d_trial.h"

#include "golden.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <random>
#include <vector>

namespace tessera::tensix {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kL1Small = 16384;

Conv2dProblem stage_one() {
  Conv2dProblem p;
  p.batch = 16, p.height = p.width = 56, p.in_channels = p.out_channels = 64;
  p.window.kernel_h = p.window.kernel_w = 3;
  p.window.top = p.window.bottom = p.window.left = p.window.right = 1;
  p.has_bias = true;
  p.weights_dtype = DType::bfloat8_b;
  return p;
}

// A window that steps by its own size, over an image of 128 channels. The real ttnn on n150.
Conv2dProblem folded(std::int64_t size, std::int64_t channels, TensorMemoryLayout layout, DType dtype) {
  Conv2dProblem p;
  p.height = p.width = size, p.in_channels = channels, p.out_channels = 64;
  p.window = {2, 2, 2, 2, 1, 1, 0, 0, 0, 0};
  p.has_bias = true;
  p.weights_dtype = DType::bfloat8_b;
  p.input_dtype = dtype;
  p.input_layout = dtype == DType::bfloat16 ? Layout::row_major : Layout::tile;
  p.config.shard_layout = layout;
  return p;
}

TEST(Conv2dTrial, FoldsBlockFloatsToBfloat16) {
  const Machine n150 = card_golden::board("n150");
  const auto peak = [&](std::int64_t size, std::int64_t channels, TensorMemoryLayout layout) {
    const Conv2dTrial trial = try_conv2d(folded(size, channels, layout, DType::bfloat8_b), n150, kL1Small);
    return trial.fits() ? trial.peak.total_bytes : -1;
  };
  EXPECT_EQ(peak(16, 128, TensorMemoryLayout::height_sharded), 65536);
  EXPECT_EQ(peak(28, 32, TensorMemoryLayout::height_sharded), 16384);
  EXPECT_EQ(peak(28, 32, TensorMemoryLayout::block_sharded), 6144);
  EXPECT_EQ(peak(28, 72, TensorMemoryLayout::block_sharded), 22528);
}

TEST(Conv2dTrial, FoldedImagesAreNeverShardedByWidth) {
  const Machine n150 = card_golden::board("n150");
  struct Refused {
    std::int64_t size, channels;
    const char* text;
  };
  for (const DType dtype : {DType::bfloat16, DType::bfloat8_b, DType::float32})
    for (const Refused& r :
         {Refused{28, 128, "Physical shard shape (196, 32) must be tile {32, 32} sized!"},
          Refused{16, 128,
                  "Invalid shard grid: shard core (8, 0) has no L1 bank on this device, which has 64 of them."},
          Refused{16, 72, "Invalid shard grid: shard core (8, 0)"},
          Refused{16, 64, "Unsupported memory layout TensorMemoryLayout::WIDTH_SHARDED."}}) {
      Conv2dProblem p = folded(r.size, r.channels, TensorMemoryLayout::width_sharded, dtype);
      const Conv2dTrial trial = try_conv2d(p, n150, kL1Small);
      ASSERT_FALSE(trial.fits()) << r.text;
      EXPECT_THAT(trial.refusal->message, HasSubstr(r.text));
      p.config.enable_kernel_stride_folding = false;
      EXPECT_TRUE(try_conv2d(p, n150, kL1Small).fits()) << "what the hint says";
    }
}

TEST(Conv2dTrial, KeepsEachReasonThatMemoryRunsOut) {
  const Machine n150 = card_golden::board("n150");
  Conv2dProblem p = stage_one();
  p.config.shard_layout = TensorMemoryLayout::height_sharded;
  const Conv2dTrial fits = try_conv2d(p, n150, kL1Small);
  ASSERT_TRUE(fits.fits());
  EXPECT_EQ(fits.peak.total_bytes, 868624);
  EXPECT_EQ(fits.circular_buffer_bytes, 629696);
  EXPECT_EQ(fits.halo_bytes, 136192);
  EXPECT_EQ(fits.output_bytes, 102400);

  p.config.act_block_h_override = 1600;
  const Conv2dTrial clash = try_conv2d(p, n150, kL1Small);
  ASSERT_FALSE(clash.fits());
  EXPECT_EQ(clash.refusal->code, Code::out_of_memory);
  EXPECT_EQ(clash.refusal->shortage, Shortage::l1_clash);
  EXPECT_THAT(clash.refusal->message, HasSubstr("L1 buffer allocated at 1059328"));
  EXPECT_EQ(clash.wanted_bytes, 1643072);
  // What the real one had reached when it gave up: all of the program.
  EXPECT_EQ(clash.peak.circular_buffer_bytes, 1219520);
  EXPECT_EQ(clash.peak.l1_bytes, 423888);
  EXPECT_EQ(clash.peak.total_bytes, 1643408);

  p.config.act_block_h_override = 0;
  p.config.shard_layout = TensorMemoryLayout::width_sharded;
  const Conv2dTrial full = try_conv2d(p, n150, kL1Small);
  ASSERT_FALSE(full.fits());
  EXPECT_THAT(full.refusal->message, HasSubstr("each bank needs to store 3211264 B"));
  EXPECT_EQ(full.refusal->shortage, Shortage::l1);
  EXPECT_EQ(full.refusal->requested_bytes, 3211264);
  EXPECT_EQ(full.halo_bytes, 3444736);
  EXPECT_EQ(full.peak.total_bytes, 0) << "not even the input was there";
}

TEST(Conv2dTrial, KnowsTheShardsOfAProgramThatIsRefused) {
  Conv2dProblem p = stage_one();
  p.batch = 1, p.height = 14, p.width = 28;
  p.config.shard_layout = TensorMemoryLayout::width_sharded;
  p.config.act_block_h_override = 256;
  const Conv2dTrial trial = try_conv2d(p, card_golden::board("n150"), kL1Small);
  ASSERT_FALSE(trial.fits());
  EXPECT_FALSE(trial.plan);
  EXPECT_THAT(trial.refusal->message, HasSubstr("act_matrix_height_ntiles 13"));
  EXPECT_EQ(trial.halo_bytes, 16 * 30 * 32 * 2);
  EXPECT_EQ(trial.output_bytes, 13 * 2048);
  EXPECT_EQ(trial.circular_buffer_bytes, 0);
}

TEST(Conv2dTrial, SweepsEveryCombinationAndPrefersCoresToMemory) {
  const Machine n150 = card_golden::board("n150");
  std::size_t heard = 0, total = 0;
  Conv2dSweep sweep;
  sweep.block_heights = {0, 64};
  const std::vector<Conv2dTrial> trials =
      sweep_conv2d(stage_one(), n150, kL1Small, sweep, [&](std::size_t, std::size_t of) {
        ++heard;
        total = of;
      });
  EXPECT_EQ(trials.size(), 3u * 2 * 4);
  EXPECT_EQ(heard, trials.size());
  EXPECT_EQ(total, trials.size());
  const std::optional<std::size_t> best = best_trial(trials);
  ASSERT_TRUE(best);
  const Conv2dPlan& plan = *trials[*best].plan;
  EXPECT_EQ(plan.output.cores.num_cores(), 63);
  EXPECT_TRUE(plan.problem.config.enable_act_double_buffer && plan.problem.config.enable_weights_double_buffer);
  EXPECT_EQ(plan.act_height_blocks, 1);

  sweep.layouts = {TensorMemoryLayout::width_sharded};
  EXPECT_FALSE(best_trial(sweep_conv2d(stage_one(), n150, kL1Small, sweep, [](std::size_t, std::size_t) {})));
}

TEST(Conv2dTrial, AProductHasOneTrialForEachOfItsLayouts) {
  Conv2dProblem p = stage_one();
  p.window = {};
  Conv2dSweep sweep;
  sweep.layouts = {TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded};
  const std::vector<Conv2dTrial> trials =
      sweep_conv2d(p, card_golden::board("n150"), kL1Small, sweep, [](std::size_t, std::size_t) {});
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].halo_bytes, 0);
  EXPECT_TRUE(trials[0].fits());
}

// Whatever fits, fits; and what is wanted is what is taken, but for lists that stay from the halo.
TEST(Conv2dTrial, PeaksAgreeWithThePlanOnAnyLayer) {
  const std::array<Machine, 2> boards{card_golden::board("n150"), card_golden::board("p150")};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  int fit = 0;
  for (std::uint64_t seed = 0; std::chrono::steady_clock::now() < end; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
      return from.begin()[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
    };
    const auto flag = [&] { return pick({0, 1}) == 1; };
    Conv2dProblem p = stage_one();
    p.batch = pick({1, 2, 8}), p.height = pick({7, 14, 33, 56}), p.width = pick({7, 28, 47});
    p.in_channels = pick({3, 16, 40, 64, 256}), p.out_channels = pick({8, 32, 100, 256});
    p.window.stride_h = p.window.stride_w = pick({1, 1, 2});
    p.config.shard_layout = std::array{TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded,
                                       TensorMemoryLayout::width_sharded}[static_cast<std::size_t>(pick({0, 1, 2}))];
    p.config.act_block_h_override = static_cast<int>(pick({0, 0, 32, 64, 96}));
    p.config.enable_act_double_buffer = flag();
    p.config.enable_weights_double_buffer = flag();
    if (flag()) p.output_dtype = DType::bfloat8_b;
    const Machine& board = boards[seed % 2];
    const Conv2dTrial trial = try_conv2d(p, board, kL1Small);
    if (!trial.fits()) {
      EXPECT_FALSE(trial.refusal->message.empty());
      continue;
    }
    ++fit;
    EXPECT_GE(trial.peak.circular_buffer_bytes, trial.circular_buffer_bytes);
    EXPECT_GE(trial.peak.total_bytes, trial.wanted_bytes);
    EXPECT_LE(trial.peak.total_bytes, trial.wanted_bytes + trial.kept_bytes);
    EXPECT_LE(trial.peak.total_bytes, board.tensix->l1_bank_bytes());
  }
  EXPECT_GT(fit, 10);
}

}  // namespace
}  // namespace tessera::tensix
