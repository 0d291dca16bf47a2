#include "tessera/targets/tensix/ops/conv2d/conv2d_blocks.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace tessera::tensix {
namespace {

constexpr std::array<std::array<std::int64_t, 2>, 20> kSubblocks{
    {{2, 4}, {4, 2}, {1, 8}, {8, 1}, {1, 7}, {7, 1}, {2, 3}, {3, 2}, {1, 6}, {6, 1},
     {1, 5}, {5, 1}, {2, 2}, {1, 4}, {4, 1}, {1, 3}, {3, 1}, {1, 2}, {2, 1}, {1, 1}}};

std::int64_t stick_element_bytes(const Conv2dProblem& problem) { return problem.input_dtype == DType::float32 ? 4 : 2; }

// Rows that blocks must divide. A width shard is not padded to whole tiles before it is cut: its last, partial tile of
// rows is left out here, as TTNN does, and refused later when a block does not divide the padded rows.
std::int64_t rows_to_cut(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  if (plan.input.layout == TensorMemoryLayout::width_sharded) return p.batch * p.out_h() * p.out_w() / kTile;
  return plan.output_shard.height / kTile;
}

std::int64_t block_width(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  const SlidingWindow& w = p.window;
  const std::int64_t channels = plan.in_channels_padded;
  switch (plan.input.layout) {
    case TensorMemoryLayout::height_sharded:
      if (plan.depthwise_1d) return ceil_div(channels * (reads_taps_together(plan, card) ? w.kernel_w : 1), kTile);
      return ceil_div(channels * w.kernel_w * (p.config.enable_activation_reuse ? w.kernel_h : 1), kTile);
    case TensorMemoryLayout::block_sharded:
      return ceil_div(channels / plan.input.channel_parts * w.kernel_w * (p.config.full_inner_dim ? w.kernel_h : 1),
                      kTile);
    default: return channels * w.kernel_h * w.kernel_w / (plan.input.channel_parts * p.config.act_block_w_div) / kTile;
  }
}

// Block heights in rows around the one that was asked for: the next divisor down and up.
std::string legal_block_heights(std::int64_t tiles, std::int64_t asked) {
  std::set<std::int64_t> legal{largest_divisor(tiles, asked)};
  std::int64_t above = asked + 1;
  while (above < tiles && tiles % above != 0) ++above;
  legal.insert(std::min(above, tiles));
  std::vector<std::int64_t> rows;
  for (const std::int64_t height : legal) rows.push_back(height * kTile);
  return fmt::format("act_block_h_override {} divides the {} rows of a core", fmt::join(rows, " or "), tiles * kTile);
}

// What act_block_w_div may be, for a width-sharded convolution.
std::string legal_divisors(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  const std::int64_t tiles = plan.in_channels_padded / plan.input.channel_parts * p.window.kernel_h *
                             p.window.kernel_w / kTile;  // of one core's part of the reduction
  return fmt::format("act_block_w_div must divide the {} tiles of a core's part of the reduction: {} does", tiles,
                     largest_divisor(std::max<std::int64_t>(tiles, 1), p.config.act_block_w_div));
}

void check_width_blocks(const Conv2dPlan& plan, const TensixSpec& card) {
  const std::int64_t inner = plan.weight_matrix.height / kTile;
  const std::int64_t rows = plan.output_shard.height / kTile;
  check(
      !plan.depthwise_1d, Code::unsupported, Hint{"height sharding takes it"},
      "The width of tensor a needs to match the height of tensor b: weights of a depthwise convolution along one axis "
      "are not laid out for width sharding");
  if (inner % plan.act_block_w != 0)
    fail(
        Code::invalid_argument, Hint{legal_divisors(plan)},
        "The width of tensor a needs to match the height of tensor b: blocks of {} tiles do not divide the {} tiles of "
        "the reduction",
        plan.act_block_w, inner);
  if (rows % plan.act_block_h != 0)
    fail(Code::invalid_argument, Hint{legal_block_heights(rows, plan.act_block_h)},
         "act_matrix_height_ntiles {} should be divisible by act_block_h_ntiles {}", rows, plan.act_block_h);
  if (inner / plan.act_block_w % plan.input.channel_parts != 0)
    fail(Code::invalid_argument, Hint{legal_divisors(plan)},
         "Number of Act Blocks along the Width {} should be divisible by the number of cores {}",
         inner / plan.act_block_w, plan.input.channel_parts);
  const std::int64_t cores = plan.input.cores.num_cores();
  const CoreRangeSet expected = num_cores_to_corerangeset({0, 0}, cores, {card.grid_y, card.grid_x}, true);
  if (cores > plan.output.cores.num_cores() && plan.input.cores != expected)
    fail(
        Code::invalid_argument, Hint{fmt::format("a core_grid of {} works", expected.to_string())},
        "Multicast runtime arguments target an unplaced core: {} input cores are taken row by row from a grid {} wide, "
        "but core_grid is {}",
        cores, card.grid_x, plan.input.cores.to_string());
}

}  // namespace

Extent2d choose_subblock(std::int64_t block_h, std::int64_t block_w, bool fp32_dest_acc) {
  for (const auto& [h, w] : kSubblocks) {
    if (fp32_dest_acc && h * w > 4) continue;
    if (block_h % h == 0 && block_w % w == 0 && (w == block_w || h == 1)) return {h, w};
  }
  return {1, 1};
}

bool reads_taps_together(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  return plan.depthwise_1d && plan.input.layout == TensorMemoryLayout::height_sharded && p.window.dilation_w == 1 &&
         plan.in_channels_padded % kTile == 0 &&
         plan.in_channels_padded * p.window.kernel_w * stick_element_bytes(p) <= card.noc_max_burst_bytes;
}

void choose_blocks(Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  const std::int64_t rows = plan.output_shard.height / kTile;
  plan.act_block_h = p.config.act_block_h_override > 0
                         ? largest_divisor(rows_to_cut(plan), p.config.act_block_h_override / kTile)
                         : rows;
  if (plan.input.layout == TensorMemoryLayout::height_sharded && p.config.enable_activation_reuse) {
    const std::int64_t image = ceil_div(p.out_w(), kTile);
    if (plan.act_block_h <= image)
      fail(Code::invalid_argument,
           Hint{rows > image
                    ? fmt::format("act_block_h_override {} or more that divides the {} rows of a core, or 0 for all of "
                                  "them",
                                  (image + 1) * kTile, rows * kTile)
                    : fmt::format("a core has {} tiles of rows only: leave reuse off, or take fewer cores", rows)},
           "Activation reuse needs act block h ({}) to be bigger than output image width in tiles ({}) for the "
           "optimization to give boost",
           plan.act_block_h, image);
  }
  plan.act_block_w = block_width(plan, card);
  check(plan.act_block_w > 0, Code::invalid_argument, Hint{legal_divisors(plan)},
        "act_block_w_div {} leaves less than a tile of the reduction in a block", p.config.act_block_w_div);
  plan.weight_block_w = plan.output_shard.width / kTile;
  const Extent2d subblock = choose_subblock(plan.act_block_h, plan.weight_block_w, p.compute.fp32_dest_acc_en);
  plan.out_subblock_h = subblock.height;
  plan.out_subblock_w = subblock.width;
  plan.act_height_blocks = rows / plan.act_block_h;
}

Extent2d weight_matrix_of(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  const SlidingWindow& w = p.window;
  const std::int64_t channels = plan.in_channels_padded / plan.input.channel_parts;
  std::int64_t rows = 0;
  if (plan.depthwise_1d && plan.input.layout == TensorMemoryLayout::height_sharded)
    rows = plan.act_block_h * kTile * w.kernel_w;
  else if (plan.input.layout == TensorMemoryLayout::width_sharded)
    rows = channels * w.kernel_h * w.kernel_w;
  else if (plan.input.layout == TensorMemoryLayout::height_sharded ? p.config.enable_activation_reuse
                                                                   : p.config.full_inner_dim)
    rows = round_up(channels * w.kernel_h * w.kernel_w, kTile);
  else
    rows = round_up(channels * w.kernel_w, kTile) * w.kernel_h;
  return {rows * plan.input.channel_parts, plan.output_shard.width * plan.output.channel_parts};
}

void check_blocks(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  const std::int64_t rows = plan.output_shard.height / kTile;
  if (plan.act_block_h > rows)
    fail(Code::invalid_argument, Hint{legal_block_heights(rows, plan.act_block_h)},
         "Output block height (in # of tiles) ({}) should be greater than or equal to activation block height (in # of "
         "tiles) ({})",
         rows, plan.act_block_h);
  if (plan.input.layout == TensorMemoryLayout::width_sharded) return check_width_blocks(plan, card);
  if (!p.config.enable_activation_reuse) return;
  const Hint off{"switch enable_activation_reuse off"};
  check(plan.input.layout == TensorMemoryLayout::height_sharded, Code::unsupported, off,
        "DstActivation data reuse is not supported for block sharded");
  check(p.window.dilation_h == 1 && p.window.dilation_w == 1, Code::unsupported, off,
        "DstActivation data reuse is not supported for dilation > 1: it is {}x{}", p.window.dilation_h,
        p.window.dilation_w);
  check(p.window.stride_h == 1 && p.window.stride_w == 1, Code::unsupported, off,
        "DstActivation data reuse is not supported for stride > 1: it is {}x{}", p.window.stride_h, p.window.stride_w);
}

}  // namespace tessera::tensix
