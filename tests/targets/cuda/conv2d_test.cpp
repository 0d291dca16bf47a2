#include "tests/targets/cuda/conv2d_case.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace tessera::cuda {
namespace {

GpuSpec h200() { return *load_machine_file(TESSERA_MACHINES_DIR "/nvidia_h200.toml").gpu; }

#define TSR_NEEDS_DEVICE() \
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why

struct Arithmetic {
  ElementType type;
  bool tf32 = false;
};
constexpr Arithmetic kAll[] = {
    {ElementType::float16}, {ElementType::bfloat16}, {ElementType::float32, true}, {ElementType::float32}};

// Besides the kernel for any shape, float32 has two that are exact, and all that have tiles where it may be rounded.
int at_least(const Arithmetic& arithmetic, int kernels) {
  return arithmetic.type == ElementType::float32 && !arithmetic.tf32 ? std::min(kernels, 3) : kernels;
}

TEST(CudaConv2d, MatchesTheDefinitionOnLayersOfNetworks) {
  TSR_NEEDS_DEVICE();
  for (const Arithmetic& arithmetic : kAll) {
    const auto run = [&](std::string name, Conv2dProblem p) {
      p.type = arithmetic.type, p.tf32 = arithmetic.tf32;
      EXPECT_GE(check_kernels({std::move(name), p}), at_least(arithmetic, 4));
    };
    run("3x3", {.n = 1, .h = 28, .w = 28, .c = 64, .oc = 64, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}});
    run("3x3, 7x7 images", {.n = 3, .h = 7, .w = 7, .c = 128, .oc = 128, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}});
    run("3x3 valid, 256 channels", {.n = 1, .h = 18, .w = 18, .c = 128, .oc = 256, .kh = 3, .kw = 3});
    run("3x3, stride 2",
        {.n = 2, .h = 28, .w = 28, .c = 64, .oc = 128, .kh = 3, .kw = 3, .stride = {2, 2}, .pads = {1, 1, 1, 1}});
    run("1x1", {.n = 2, .h = 14, .w = 14, .c = 256, .oc = 64});
    run("1x1, stride 2", {.n = 2, .h = 14, .w = 14, .c = 64, .oc = 128, .stride = {2, 2}});
    run("7x7, 8 channels",
        {.n = 1, .h = 32, .w = 32, .c = 8, .oc = 64, .kh = 7, .kw = 7, .stride = {2, 2}, .pads = {3, 3, 3, 3}});
  }
}

TEST(CudaConv2d, FusesActivationResidualAndPooling) {
  TSR_NEEDS_DEVICE();
  for (const Arithmetic& arithmetic : kAll) {
    for (const Activation activation :
         {kRelu, kRelu6, kSilu, Activation{.curve = Curve::gelu}, Activation{.curve = Curve::hard_swish}}) {
      for (const int pool : {1, 2}) {
        for (const bool residual : {false, true}) {
          const Conv2dProblem p{.n = 2,
                                .h = 17,
                                .w = 13,
                                .c = 64,
                                .oc = 72,
                                .kh = 3,
                                .kw = 3,
                                .pads = {1, 1, 1, 1},
                                .type = arithmetic.type,
                                .tf32 = arithmetic.tf32,
                                .residual = residual,
                                .activation = activation,
                                .pool = pool};
          EXPECT_GE(check_kernels({"fused", p}), at_least(arithmetic, tiles_take(activation, residual) ? 2 : 1));
        }
      }
    }
  }
}

TEST(CudaConv2d, MatchesTheDefinitionOnOddShapes) {
  TSR_NEEDS_DEVICE();
  for (const Arithmetic& arithmetic : kAll) {
    const auto run = [&](std::string name, Conv2dProblem p, int kernels) {
      p.type = arithmetic.type, p.tf32 = arithmetic.tf32;
      EXPECT_GE(check_kernels({std::move(name), p}), at_least(arithmetic, kernels));
    };
    run("3 channels",
        {.n = 2, .h = 19, .w = 23, .c = 3, .oc = 5, .kh = 7, .kw = 7, .stride = {2, 2}, .pads = {3, 3, 3, 3}}, 1);
    run("depthwise",
        {.n = 1, .h = 12, .w = 12, .c = 24, .oc = 24, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}, .groups = 24}, 1);
    run("groups", {.n = 1, .h = 9, .w = 11, .c = 32, .oc = 48, .kh = 3, .kw = 3, .groups = 4, .pool = 2}, 1);
    run("dilation",
        {.n = 1, .h = 21, .w = 20, .c = 72, .oc = 40, .kh = 3, .kw = 3, .dilation = {2, 3}, .pads = {2, 3, 2, 3}}, 2);
    run("one pixel", {.n = 1, .h = 1, .w = 1, .c = 8, .oc = 8, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}}, 2);
    run("uneven border", {.n = 1, .h = 10, .w = 9, .c = 16, .oc = 24, .kh = 3, .kw = 3, .pads = {0, 2, 1, 0}}, 2);
    run("5x3, stride 3x1",
        {.n = 2, .h = 16, .w = 9, .c = 40, .oc = 136, .kh = 5, .kw = 3, .stride = {3, 1}, .pads = {2, 1, 2, 1}}, 2);
    run("large stride", {.n = 1, .h = 40, .w = 40, .c = 8, .oc = 8, .kh = 3, .kw = 3, .stride = {9, 9}}, 1);
    run("pooled to one", {.n = 5, .h = 3, .w = 3, .c = 64, .oc = 64, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}, .pool = 2},
        2);
    run("wide", {.n = 1, .h = 2, .w = 300, .c = 64, .oc = 64, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}}, 2);
    run("tall", {.n = 1, .h = 300, .w = 2, .c = 64, .oc = 64, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}}, 2);
    run("stride 8", {.n = 1, .h = 64, .w = 64, .c = 16, .oc = 16, .kh = 8, .kw = 8, .stride = {8, 8}}, 2);
  }
}

TEST(CudaConv2d, FoldsImagesOfFewChannels) {
  TSR_NEEDS_DEVICE();
  for (const Arithmetic& arithmetic : kAll) {
    for (const int c : {1, 3, 4, 8}) {
      for (const int pool : {1, 2}) {
        Conv2dProblem p{.n = 2,
                        .h = 30,
                        .w = 37,
                        .c = c,
                        .oc = 64,
                        .kh = 7,
                        .kw = 7,
                        .stride = {2, 2},
                        .pads = {3, 3, 3, 3},
                        .type = arithmetic.type,
                        .tf32 = arithmetic.tf32,
                        .activation = kRelu,
                        .pool = pool};
        EXPECT_GE(check_kernels({"stem", p}), at_least(arithmetic, 3));
        EXPECT_GE(check_kernels({"stem, specials", p, true, Values::specials}), at_least(arithmetic, 3));
        p.kh = 3, p.kw = 2, p.stride = {1, 3}, p.dilation = {2, 1}, p.pads = {0, 1, 2, 5}, p.oc = 40;
        EXPECT_GE(check_kernels({"few channels", p}), at_least(arithmetic, 3));
        p.kw = 8, p.stride = {3, 1}, p.pads = {1, 0, 0, 0}, p.residual = true;
        EXPECT_GE(check_kernels({"eight columns", p, false, Values::specials}), at_least(arithmetic, 3));
      }
    }
  }
}

TEST(CudaConv2d, SumsInFloat32AndPassesInfinitiesOn) {
  TSR_NEEDS_DEVICE();
  for (const Arithmetic& arithmetic : kAll) {
    Conv2dProblem p{.n = 1, .h = 10, .w = 10, .c = 192, .oc = 64, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}};
    p.type = arithmetic.type, p.tf32 = arithmetic.tf32;
    EXPECT_GE(check_kernels({"cancelling", p, true, Values::cancelling}), 2);
    EXPECT_GE(check_kernels({"specials", p, true, Values::specials}), 2);
    p.pool = 2;
    p.activation = kRelu;
    EXPECT_GE(check_kernels({"specials, pooled", p, false, Values::specials}), 2);
  }
}

TEST(CudaConv2d, ManyTilesForEachBlock) {
  TSR_NEEDS_DEVICE();
  // More tiles than multiprocessors, so that blocks go round; weights stay in shared memory or not.
  for (const int c : {64, 128}) {
    const Conv2dProblem p{
        .n = 40, .h = 16, .w = 40, .c = c, .oc = 16, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}, .pool = 2};
    EXPECT_GE(check_kernels({"many tiles", p}), 2);
  }
  const Conv2dProblem p{.n = 70, .h = 16, .w = 16, .c = 8, .oc = 512, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}};
  EXPECT_GE(check_kernels({"many tiles, two of channels", p}), 2);
}

TEST(CudaConv2d, RandomShapes) {
  TSR_NEEDS_DEVICE();
  std::mt19937_64 random(7);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 60; ++i) {
    Conv2dProblem p{.n = pick(1, 4),
                    .h = pick(1, 24),
                    .w = pick(1, 24),
                    .c = pick(1, 20) * pick(1, 8),
                    .oc = pick(1, 24) * pick(1, 8)};
    p.kh = pick(1, 4), p.kw = pick(1, 4);
    p.stride = {pick(1, 3), pick(1, 3)};
    p.dilation = {pick(1, 2), pick(1, 2)};
    p.pads = {pick(0, 3), pick(0, 3), pick(0, 3), pick(0, 3)};
    if (p.h + p.pads[0] + p.pads[2] <= p.dilation[0] * (p.kh - 1)) continue;
    if (p.w + p.pads[1] + p.pads[3] <= p.dilation[1] * (p.kw - 1)) continue;
    p.pool = pick(1, 2);
    p.residual = pick(0, 1) == 1;
    p.activation = std::array{kPlain, kRelu, kRelu6, kSilu}[static_cast<std::size_t>(pick(0, 3))];
    const Arithmetic& arithmetic = kAll[pick(0, 3)];
    p.type = arithmetic.type, p.tf32 = arithmetic.tf32;
    EXPECT_GE(check_kernels({"random " + std::to_string(i), p, pick(0, 1) == 1}, static_cast<std::uint64_t>(i)), 1);
  }
}

TEST(CudaConv2d, AnEmptyBatchRunsNothing) {
  TSR_NEEDS_DEVICE();
  EXPECT_GE(check_kernels({"empty", {.n = 0, .h = 8, .w = 8, .c = 64, .oc = 64, .kh = 3, .kw = 3}}), 2);
}

TEST(CudaConv2dTable, HasARowForEveryProblem) {
  const Conv2dPlan odd = plan_conv2d({.n = 1, .h = 9, .w = 9, .c = 9, .oc = 5, .kh = 3, .kw = 3}, h200());
  EXPECT_EQ(odd.row->name, "conv2d_f16_direct");
  bool channels = false;
  for (const auto& refused : odd.refused)
    channels |= refused.refusal.reason == Conv2dRefusal::Reason::input_channels && refused.refusal.found == 9;
  EXPECT_TRUE(channels);
}

TEST(CudaConv2dTable, KeepsPatchesForLargeImagesAndSplitsForSmallOnes) {
  const Conv2dPlan large = plan_conv2d({.n = 1, .h = 224, .w = 224, .c = 256, .oc = 256, .kh = 3, .kw = 3}, h200());
  ASSERT_TRUE(large.row->tiling);
  EXPECT_TRUE(large.row->tiling->patch);
  EXPECT_EQ(large.row->tiling->oc, 256);
  const Conv2dPlan small =
      plan_conv2d({.n = 1, .h = 7, .w = 7, .c = 512, .oc = 512, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}}, h200());
  EXPECT_GT(small.offer.splits, 1);
}

TEST(CudaConv2dTable, RefusesWhatIsNoConvolution) {
  EXPECT_THROW(plan_conv2d({.h = 2, .w = 2, .c = 8, .oc = 8, .kh = 3, .kw = 3}, h200()), Error);
  EXPECT_THROW(plan_conv2d({.h = 8, .w = 8, .c = 8, .oc = 8, .groups = 3}, h200()), Error);
  EXPECT_THROW(plan_conv2d({.h = 8, .w = 8, .c = 8, .oc = 8, .type = ElementType::int8}, h200()), Error);
  EXPECT_THROW(plan_conv2d({.h = 8, .w = 8, .c = 8, .oc = 8, .pool = 3}, h200()), Error);
}

}  // namespace
}  // namespace tessera::cuda
