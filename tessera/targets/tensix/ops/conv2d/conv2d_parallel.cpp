#include "tessera/targets/tensix/ops/conv2d/conv2d_parallel.h"
#include "tessera/targets/tensix/card/tile_side.h"

#include <algorithm>
#include <utility>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kFinestChannels = 8;  // of bfloat16: 16 bytes, what L1 is aligned to

// Parts that divide both counts exactly, for products whose channels may not be padded.
std::int64_t common_divisor(std::int64_t a, std::int64_t b, std::int64_t most) {
  std::int64_t parts = std::min({most, a, b});
  while (a % parts != 0 || b % parts != 0) --parts;
  return parts;
}

CoreRangeSet rectangle(std::int64_t columns, std::int64_t rows) {
  return CoreRange({0, 0}, {static_cast<int>(columns) - 1, static_cast<int>(rows) - 1});
}

CoreRangeSet first_cores(std::int64_t count, CoreGrid grid) {
  return num_cores_to_corerangeset({0, 0}, count, grid, /*row_wise=*/true);
}

}  // namespace

std::int64_t fullest_parts(std::int64_t units, std::int64_t most, std::int64_t multiple) {
  std::int64_t parts = most;
  for (; parts > 1; --parts) {
    const std::int64_t dealt = round_up(units, parts * multiple);
    if (dealt - units < dealt / parts) break;
  }
  return std::max<std::int64_t>(parts, 1);
}

std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
  if (n == 0) return most;
  most = std::min(most, n);
  std::int64_t best = 1;
  for (std::int64_t low = 1; low * low <= n; ++low) {
    if (n % low != 0) continue;
    if (low <= most) best = std::max(best, low);
    if (n / low <= most) best = std::max(best, n / low);
  }
  return best;
}

Parallel parallel_over(TensorMemoryLayout layout, CoreRangeSet cores, ShardOrientation orientation) {
  Parallel parallel{.layout = layout, .cores = std::move(cores), .orientation = orientation};
  if (layout == TensorMemoryLayout::height_sharded) {
    parallel.row_parts = parallel.cores.num_cores();
  } else if (layout == TensorMemoryLayout::width_sharded) {
    parallel.channel_parts = parallel.cores.num_cores();
  } else {
    const CoreRange box = parallel.cores.bounding_box();
    const bool row_major = orientation == ShardOrientation::row_major;
    parallel.row_parts = row_major ? box.rows() : box.columns();
    parallel.channel_parts = row_major ? box.columns() : box.rows();
  }
  return parallel;
}

std::int64_t channel_alignment(TensorMemoryLayout layout, Layout input_layout, bool as_matmul,
                               const std::optional<Extent2d>& shard) {
  if (as_matmul || layout == TensorMemoryLayout::width_sharded || input_layout != Layout::row_major) return kTile;
  if (!shard) return kFinestChannels;
  for (const std::int64_t alignment : {kTile, 2 * kFinestChannels, kFinestChannels})
    if (shard->width % alignment == 0) return alignment;
  return kTile;
}

Parallel choose_input_cores(const Conv2dProblem& problem, TensorMemoryLayout layout, std::int64_t alignment,
                            bool as_matmul, const TensixSpec& card) {
  const CoreGrid grid{card.grid_y, card.grid_x};
  const std::int64_t row_tiles = ceil_div(problem.batch * problem.out_h() * problem.out_w(), kTile);
  const std::int64_t block = std::max<std::int64_t>(problem.config.act_block_h_override / kTile, 1);
  if (layout == TensorMemoryLayout::height_sharded)
    return parallel_over(layout, first_cores(fullest_parts(row_tiles, grid.num_cores(), block), grid),
                         ShardOrientation::row_major);
  if (layout == TensorMemoryLayout::width_sharded) {
    const std::int64_t tiles = ceil_div(problem.in_channels, kTile);
    const std::int64_t parts =
        as_matmul ? common_divisor(tiles, tiles, grid.num_cores()) : fullest_parts(tiles, grid.num_cores());
    return parallel_over(layout, first_cores(parts, grid), ShardOrientation::row_major);
  }
  const bool column_major = problem.config.transpose_shards;
  const std::int64_t across = column_major ? grid.y : grid.x;
  const std::int64_t row_parts = fullest_parts(row_tiles, column_major ? grid.x : grid.y, block);
  const std::int64_t units = ceil_div(problem.in_channels, alignment);
  const std::int64_t channel_parts =
      as_matmul ? common_divisor(ceil_div(problem.out_channels, kTile), units, across) : fullest_parts(units, across);
  return column_major ? parallel_over(layout, rectangle(row_parts, channel_parts), ShardOrientation::col_major)
                      : parallel_over(layout, rectangle(channel_parts, row_parts), ShardOrientation::row_major);
}

Parallel choose_output_cores(const Parallel& input, std::int64_t out_channels, CoreGrid grid, bool as_matmul) {
  if (as_matmul || input.layout == TensorMemoryLayout::height_sharded) return input;
  const std::int64_t tiles = ceil_div(out_channels, kTile);
  if (input.layout == TensorMemoryLayout::width_sharded)
    return parallel_over(input.layout, first_cores(fullest_parts(tiles, grid.num_cores()), grid),
                         ShardOrientation::row_major);
  const bool column_major = input.orientation == ShardOrientation::col_major;
  const std::int64_t parts = fullest_parts(tiles, column_major ? grid.y : grid.x);
  return parallel_over(input.layout,
                       column_major ? rectangle(input.row_parts, parts) : rectangle(parts, input.row_parts),
                       input.orientation);
}

Extent2d input_shard_of(const Conv2dProblem& problem, const Parallel& parallel, std::int64_t alignment) {
  const std::int64_t rows = problem.batch * problem.height * problem.width;
  const bool sticks = parallel.layout == TensorMemoryLayout::width_sharded && problem.input_layout == Layout::row_major;
  return {.height = round_up(rows, parallel.row_parts * (sticks ? 1 : kTile)) / parallel.row_parts,
          .width = round_up(problem.in_channels, parallel.channel_parts * alignment) / parallel.channel_parts};
}

Extent2d output_shard_of(const Conv2dProblem& problem, const Parallel& parallel) {
  const std::int64_t rows = problem.batch * problem.out_h() * problem.out_w();
  return {.height = round_up(rows, parallel.row_parts * kTile) / parallel.row_parts,
          .width = round_up(problem.out_channels, parallel.channel_parts * kTile) / parallel.channel_parts};
}

}  // namespace tessera::tensix
