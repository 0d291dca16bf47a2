#include "tessera/targets/tensix/ops/conv2d/conv2d_auto_shard.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_blocks.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_buffers.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_parallel.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

std::int64_t halo_sticks(const Conv2dProblem& problem, std::int64_t rows_per_core) {
  const HaloProblem halo = halo_problem_of(problem);
  const std::int64_t rows = halo.out_rows();
  const std::int64_t last_stick = halo.batch * halo.padded_h() * halo.padded_w() - 1;
  std::int64_t most = 0;
  for (std::int64_t first = 0; first < rows; first += rows_per_core) {
    const std::int64_t last = std::min(first + rows_per_core, rows) - 1;
    const std::int64_t end = std::min(halo.start_of(last) + halo.reach(), last_stick);
    most = std::max(most, end - halo.start_of(first) + 1);
  }
  return most;
}

Conv2dFootprint footprint_of(const Conv2dProblem& problem, TensorMemoryLayout layout, bool as_matmul,
                             const TensixSpec& card) {
  Conv2dPlan plan;
  plan.problem = problem;
  plan.as_matmul = as_matmul;
  plan.depthwise_1d = is_depthwise_1d(problem);
  plan.problem.config.shard_layout = layout;
  const std::int64_t alignment = channel_alignment(layout, problem.input_layout, as_matmul);
  plan.input = choose_input_cores(problem, layout, alignment, as_matmul, card);
  plan.output = choose_output_cores(plan.input, problem.out_channels, {card.grid_y, card.grid_x}, as_matmul);
  plan.input_shard = input_shard_of(problem, plan.input, alignment);
  plan.output_shard = output_shard_of(problem, plan.output);
  plan.in_channels_padded = plan.input_shard.width * plan.input.channel_parts;
  choose_blocks(plan, card);
  const std::int64_t row_tiles = plan.output_shard.height / kTile;
  check(plan.act_block_h <= row_tiles, Code::invalid_argument,
        Hint{"set shard_layout: layouts cannot be weighed with this act_block_h_override"},
        "Conv2d output block size {} exceeds the per-core output size {}: {} rows are less than a tile",
        plan.act_block_h, row_tiles, problem.batch * problem.out_h() * problem.out_w());
  // The weights as they come, without what preparing them would add.
  plan.weight_matrix = {round_up(problem.in_channels, alignment) * problem.window.kernel_h * problem.window.kernel_w,
                        round_up(problem.out_channels, kTile)};
  choose_buffers(plan, card, /*estimate=*/true);
  const std::int64_t element = problem.input_dtype == DType::float32 ? 4 : 2;
  const std::int64_t out_rows = problem.batch * problem.out_h() * problem.out_w();
  const std::int64_t rows_per_core = round_up(ceil_div(out_rows, plan.input.row_parts), kTile);
  return {.cores = std::max(plan.input.cores.num_cores(), plan.output.cores.num_cores()),
          .circular_buffer_bytes = plan.circular_buffer_bytes(),
          .output_bytes = plan.output_shard.area() / (kTile * kTile) * tile_bytes(Tile{}, problem.output_dtype),
          .halo_bytes = halo_sticks(problem, rows_per_core) * plan.input_shard.width * element};
}

}  // namespace

bool is_depthwise_1d(const Conv2dProblem& problem) {
  return problem.groups == problem.in_channels && problem.groups == problem.out_channels &&
         problem.window.kernel_h == 1 && problem.height == 1 && !problem.has_bias;
}

TensorMemoryLayout choose_layout(const Conv2dProblem& problem, bool as_matmul, const TensixSpec& card) {
  TensorMemoryLayout best = TensorMemoryLayout::height_sharded;
  std::int64_t least = footprint_of(problem, best, as_matmul, card).total_bytes();
  if (is_depthwise_1d(problem)) return best;
  const Conv2dFootprint block = footprint_of(problem, TensorMemoryLayout::block_sharded, as_matmul, card);
  const Conv2dFootprint width = footprint_of(problem, TensorMemoryLayout::width_sharded, as_matmul, card);
  if (block.total_bytes() < least && block.cores >= card.grid_x) {
    best = TensorMemoryLayout::block_sharded;
    least = block.total_bytes();
  }
  if (width.total_bytes() < least && !as_matmul) best = TensorMemoryLayout::width_sharded;
  return best;
}

}  // namespace tessera::tensix
