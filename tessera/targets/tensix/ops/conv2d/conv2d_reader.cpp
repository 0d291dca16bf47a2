#include "tessera/targets/tensix/ops/conv2d/conv2d_reader.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kSmallestTransfer = 16;

// Single precision throughout, so that near ties fall as TTNN's do.
float gigabytes_per_s(const SizedRate& path, std::int64_t bytes) {
  const auto knee = static_cast<std::int64_t>(path.knee_bytes);
  const auto floor = static_cast<float>(path.floor_bytes_per_s / 1e9);
  const auto peak = static_cast<float>(path.peak_bytes_per_s / 1e9);
  const float slope = (peak - floor) / static_cast<float>(knee - kSmallestTransfer);
  return floor + slope * static_cast<float>(std::clamp(bytes, kSmallestTransfer, knee) - kSmallestTransfer);
}

float tilize_cycles(const Conv2dProblem& problem, const TensixSpec& card) {
  const bool wide = problem.input_dtype == DType::float32;
  const TilizeCost* cost = nullptr;
  if (problem.output_dtype == DType::float32)
    cost = wide ? &card.tilize_fp32_to_fp32 : &card.tilize_bf16_to_fp32;
  else if (problem.output_dtype == DType::bfloat16)
    cost = wide ? &card.tilize_fp32_to_bf16 : &card.tilize_bf16_to_bf16;
  else if (problem.output_dtype == DType::bfloat8_b)
    cost = wide ? &card.tilize_fp32_to_bfp8 : &card.tilize_bf16_to_bfp8;
  check(cost != nullptr, Code::unsupported, Hint{"float32, bfloat16 and bfloat8_b outputs are"},
        "a height-sharded convolution cannot tilize its windows to {}", name(problem.output_dtype));
  return static_cast<float>(problem.compute.fp32_dest_acc_en ? cost->dest32_cycles : cost->dest16_cycles);
}

}  // namespace

bool splits_reader(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  const TensorMemoryLayout layout = plan.input.layout;
  if (layout == TensorMemoryLayout::width_sharded || plan.depthwise_1d || plan.act_block_h < 2) return false;
  if (layout == TensorMemoryLayout::block_sharded || p.config.enable_activation_reuse)
    return p.config.force_split_reader.value_or(true);

  const float tilize = tilize_cycles(p, card) * static_cast<float>(plan.act_block_h * plan.act_block_w);
  if (p.config.force_split_reader) return *p.config.force_split_reader;
  const auto clock_ghz = static_cast<float>(card.clock_hz / 1e9);
  const std::int64_t stick_bytes = (p.input_dtype == DType::float32 ? 4 : 2) * plan.in_channels_padded;
  const std::int64_t taps_together = p.window.dilation_w == 1 ? p.window.kernel_w : 1;
  const std::int64_t act_bytes = stick_bytes * plan.act_block_h * Tile{}.height * p.window.kernel_w;
  const float act =
      clock_ghz * static_cast<float>(act_bytes) / gigabytes_per_s(card.l1_read, stick_bytes * taps_together);
  const std::int64_t weight_tile_bytes = tile_bytes(Tile{}, p.weights_dtype);
  const std::int64_t weight_bytes = weight_tile_bytes * plan.weight_block_w * plan.act_block_w;
  const float weights = clock_ghz * static_cast<float>(weight_bytes) *
                        (1.0F / gigabytes_per_s(card.dram_read, weight_tile_bytes) +
                         1.0F / gigabytes_per_s(card.multicast, weight_bytes));
  return act / 2 + std::max(weights, tilize) < std::max(act + tilize, weights);
}

}  // namespace tessera::tensix
