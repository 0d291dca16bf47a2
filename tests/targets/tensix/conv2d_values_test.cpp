#include "tessera/targets/tensix/ops/conv2d/conv2d_values.h"

#include "tests/targets/tensix/random_values.h"

#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/graph/op.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera::tensix {
namespace {

struct Case {
  Conv2dValues conv;
  std::vector<float> input, weights, bias;
};

Case random_case(const Conv2dValues& conv, Kind kind, bool bias, std::uint64_t seed) {
  const SlidingWindow& w = conv.window;
  return {conv, random_values(conv.batch * conv.height * conv.width * conv.in_channels, seed, kind),
          random_values(conv.out_channels * conv.in_channels / conv.groups * w.kernel_h * w.kernel_w, seed + 1, kind),
          bias ? random_values(conv.out_channels, seed + 2, kind) : std::vector<float>{}};
}

void expect_as_defined(const Case& test, const std::string& what) {
  const std::vector<float> wanted = conv2d_values_reference(test.conv, test.input, test.weights, test.bias);
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > host_isa()) continue;
    set_active_isa(isa);
    const std::vector<float> found = conv2d_values(test.conv, test.input, test.weights, test.bias);
    set_active_isa(std::nullopt);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(float_bits(found[i]), float_bits(wanted[i])) << what << " on " << name(isa) << " at " << i;
  }
}

Conv2dValues small(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel) {
  Conv2dValues conv;
  conv.batch = 2;
  conv.height = 7;
  conv.width = 6;
  conv.in_channels = in_channels;
  conv.out_channels = out_channels;
  conv.window.kernel_h = conv.window.kernel_w = kernel;
  conv.window.top = conv.window.bottom = conv.window.left = conv.window.right = kernel / 2;
  conv.compute.fidelity = MathFidelity::hifi2;
  return conv;
}

TEST(Conv2dValues, EqualTheDefinitionInEveryOrderOfTheReduction) {
  for (const std::int64_t channels : {3, 16, 40})
    for (const std::int64_t parts : {1, 2})
      for (const std::int64_t blocks : {1, 3})
        for (const DType tilized : {DType::float32, DType::bfloat16, DType::bfloat8_b, DType::bfloat4_b})
          for (const bool bias : {false, true}) {
            Conv2dValues conv = small(channels, 20, 3);
            conv.order = {round_up(channels, 16), parts, blocks};
            conv.tilized_dtype = tilized;
            conv.compute.packer_l1_acc = channels == 16;
            if (bias) conv.activation = activation_from_name("relu");
            expect_as_defined(
                random_case(conv, Kind::normal, bias, 1),
                fmt::format("{} channels, {} parts, {} blocks, {}", channels, parts, blocks, name(tilized)));
          }
}

TEST(Conv2dValues, EqualTheDefinitionForGroupsStridesAndDilation) {
  for (const std::int64_t groups : {1, 2, 5, 40})
    for (const PaddingMode mode : {PaddingMode::zeros, PaddingMode::replicate})
      for (const Kind kind : {Kind::bfloat16, Kind::odd}) {
        Conv2dValues conv = small(40, 80, 3);
        conv.groups = groups;
        conv.padding_mode = mode;
        conv.order.part_blocks = 3;
        conv.window.stride_h = 2;
        conv.window.dilation_w = 2;
        conv.window.right = 3;
        expect_as_defined(random_case(conv, kind, true, 2), fmt::format("{} groups", groups));
      }
}

// Against the operator's own definition, with its weights and inputs in bfloat16 and nothing else rounded.
TEST(Conv2dValues, AreTheConvolutionWhereNothingIsCut) {
  Conv2dValues conv = small(10, 12, 3);
  conv.groups = 2;
  conv.window.stride_w = 2;
  conv.compute = {.fidelity = MathFidelity::hifi4, .fp32_dest_acc_en = true};
  const Case test = random_case(conv, Kind::bfloat16, true, 3);
  const std::vector<float> found = conv2d_values(conv, test.input, test.weights, test.bias);
  const std::int64_t out_h = conv.window.out_h(7), out_w = conv.window.out_w(6);

  Array x(ElementType::float32, Shape{2, 10, 7, 6});
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t p = 0; p < 42; ++p)
      for (std::int64_t c = 0; c < 10; ++c)
        x.as<float>()[static_cast<std::size_t>((b * 10 + c) * 42 + p)] =
            test.input[static_cast<std::size_t>((b * 42 + p) * 10 + c)];
  const Array w = Array::of<float>(Shape{12, 5, 3, 3}, test.weights), bias = Array::of<float>(Shape{12}, test.bias);
  Conv op;
  op.window.strides = {1, 2};
  op.window.pads = {1, 1, 1, 1};
  op.groups = 2;
  const Array* operands[] = {&x, &w, &bias};
  const Array y = reference(Op(op), operands)[0];
  ASSERT_EQ(y.shape(), (Shape{2, 12, out_h, out_w}));
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t c = 0; c < 12; ++c)
      for (std::int64_t p = 0; p < out_h * out_w; ++p) {
        const float wanted = y.as<float>()[static_cast<std::size_t>((b * 12 + c) * out_h * out_w + p)];
        // The matrix engine's partials are bfloat16 before the bias is added: half a step of each.
        EXPECT_NEAR(found[static_cast<std::size_t>((b * out_h * out_w + p) * 12 + c)], wanted,
                    0x1p-8 * (std::abs(wanted) + std::abs(test.bias[static_cast<std::size_t>(c)])) + 45 * 0x1p-22);
      }
}

TEST(Conv2dValues, WeightsShareExponentsAcrossOutputChannels) {
  // 2 output channels x 2 k: the first channel's large number takes the bits of the second's at the same k only.
  const std::vector<float> weights{1024.0f, 1.0f, 1.0f, 1.0f};
  EXPECT_THAT(stored_weights(weights, 2, DType::bfloat8_b), testing::ElementsAre(1024.0f, 1.0f, 0.0f, 1.0f));
  EXPECT_THAT(stored_weights(weights, 2, DType::bfloat16), testing::ElementsAreArray(weights));
}

TEST(Conv2dValues, TakeTheirOrderFromThePlan) {
  Conv2dProblem problem;
  problem.in_channels = 64;
  problem.window.kernel_h = problem.window.kernel_w = 3;
  Conv2dPlan plan;
  plan.in_channels_padded = 64;
  plan.act_block_w = 6;  // a kernel row
  EXPECT_EQ(conv2d_order(problem, plan), (Conv2dOrder{64, 1, 3}));
  plan.act_block_w = 18;  // the whole window
  EXPECT_EQ(conv2d_order(problem, plan), (Conv2dOrder{64, 1, 1}));
  plan.input.channel_parts = 2;
  plan.act_block_w = 3;
  EXPECT_EQ(conv2d_order(problem, plan), (Conv2dOrder{64, 2, 3}));
  plan.as_matmul = true;
  plan.act_block_w = 1;
  EXPECT_EQ(conv2d_order(problem, plan), (Conv2dOrder{64, 1, 2}));
}

TEST(Conv2dValues, RefuseWhatDoesNotFitTogether) {
  const auto message = [](const Conv2dValues& conv, std::size_t inputs) -> std::string {
    try {
      conv2d_values(conv, std::vector<float>(inputs), std::vector<float>(9 * 16 * 8), {});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  Conv2dValues conv = small(16, 8, 3);
  EXPECT_EQ(message(conv, 2 * 42 * 16), "");
  EXPECT_THAT(message(conv, 7), testing::HasSubstr("the input has 7 elements instead of 1344"));
  conv.groups = 3;
  EXPECT_THAT(message(conv, 2 * 42 * 16), testing::HasSubstr("3 groups do not divide 16"));
  conv = small(16, 8, 3);
  conv.window.dilation_h = 9;
  EXPECT_THAT(message(conv, 2 * 42 * 16), testing::HasSubstr("does not fit into 7 x 6"));
}

}  // namespace
}  // namespace tessera::tensix
