#include "tessera/targets/tensix/ops/pool/pool_plan.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/placement.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kTransferUnit = 8;          // channels: 16 bytes of bfloat16
constexpr std::int64_t kChannelUnit = 16;          // half a tile
constexpr std::int64_t kMostChannelsAtOnce = 256;  // eight tiles in Dst
constexpr std::int64_t kSmallWindow = 16;          // pixels: one face

// The most cores of which none is idle when `units` are dealt in equal parts.
std::int64_t parts_without_idle(std::int64_t units, std::int64_t most) {
  std::int64_t parts = most;
  while (parts > 1 && round_up(units, parts) - units >= round_up(units, parts) / parts) --parts;
  return parts;
}

// The same for channels, which are dealt evenly: shards are half a tile wide, or whole tiles.
std::int64_t channel_parts(std::int64_t channels, std::int64_t unit, std::int64_t most) {
  std::int64_t parts = parts_without_idle(channels, most);
  while (parts > 1) {
    const std::int64_t width = channels / parts * unit;
    if (channels % parts == 0 && (width == kChannelUnit || width % kTile == 0)) break;
    --parts;
  }
  return parts;
}

std::int64_t rounded_extent(std::int64_t extent, std::int64_t before, std::int64_t after, std::int64_t kernel,
                            std::int64_t stride, std::int64_t dilation) {
  const std::int64_t reach = dilation * (kernel - 1) + 1, room = extent + before + after - reach;
  std::int64_t out = ceil_div(room, stride) + 1;
  if ((out - 1) * stride >= extent + before) --out;  // a window that starts in the padding behind is dropped
  return std::max((out - 1) * stride + reach - extent - before, after);
}

// Tiles that hold the windows of one output row, as many channels as Dst takes at once.
std::int64_t window_tiles(const SlidingWindow& w, std::int64_t channels) {
  const std::int64_t pixels = w.kernel_h * w.kernel_w;
  return ceil_div((pixels <= kSmallWindow ? pixels : kTile) * std::min(channels, kMostChannelsAtOnce), kTile * kTile);
}

// Windows of one row of the image follow each other: a pair of 16-bit positions for each such run on a core, and a
// word that counts them.
std::int64_t window_list_bytes(const HaloProblem& window, std::int64_t rows_per_core) {
  const std::int64_t width = window.out_w(), rows = window.out_rows();
  std::int64_t most = 0;
  for (std::int64_t first = 0; first < rows; first += rows_per_core) {
    const std::int64_t last = std::min(first + rows_per_core, rows) - 1;
    most = std::max(most, last / width - first / width + 1);
  }
  return 4 + 4 * most;
}

}  // namespace

SlidingWindow rounded_window(const PoolProblem& p) {
  SlidingWindow w = p.window;
  if (!p.ceil_mode) return w;
  w.bottom = rounded_extent(p.height, w.top, w.bottom, w.kernel_h, w.stride_h, w.dilation_h);
  w.right = rounded_extent(p.width, w.left, w.right, w.kernel_w, w.stride_w, w.dilation_w);
  return w;
}

MemoryConfig PoolPlan::input_memory() const {
  return MemoryConfig(parallel.layout, BufferType::l1, ShardSpec{parallel.cores, input_shard, parallel.orientation});
}

MemoryConfig PoolPlan::output_memory() const {
  return MemoryConfig(parallel.layout, BufferType::l1, ShardSpec{parallel.cores, output_shard, parallel.orientation});
}

PoolPlan plan_pool(const PoolProblem& p) {
  PoolPlan plan;
  plan.window = {p.batch, p.height, p.width, rounded_window(p)};
  const std::int64_t out_rows = plan.window.out_rows();
  const bool out_tiled = p.output_layout == Layout::tile, in_tiled = p.input_layout == Layout::tile;
  const std::int64_t row_unit = out_tiled ? kTile : 1;
  std::int64_t channel_unit = out_tiled || in_tiled || p.whole_tiles ? kTile : kChannelUnit;
  if (p.input_shard) {
    const ShardSpec& shard = *p.input_shard;
    const CoreRange box = shard.grid.bounding_box();
    const bool row_major = shard.orientation == ShardOrientation::row_major;
    plan.parallel = {p.layout, shard.grid, shard.orientation, 1, 1};
    if (p.layout == TensorMemoryLayout::height_sharded) plan.parallel.row_parts = shard.num_cores();
    if (p.layout == TensorMemoryLayout::width_sharded) plan.parallel.channel_parts = shard.num_cores();
    if (p.layout == TensorMemoryLayout::block_sharded) {
      plan.parallel.row_parts = row_major ? box.rows() : box.columns();
      plan.parallel.channel_parts = row_major ? box.columns() : box.rows();
    }
    plan.input_shard = shard.shape;
    // Rows leave without the padding of tiles that is more than half a tile.
    const bool narrower = p.layout == TensorMemoryLayout::height_sharded && !out_tiled;
    plan.output_shard = {
        round_up(ceil_div(out_rows, plan.parallel.row_parts), row_unit),
        narrower ? std::min(shard.shape.width, round_up(p.channels, kChannelUnit)) : shard.shape.width};
  } else {
    const std::int64_t cores = std::int64_t{p.grid.x} * p.grid.y, units = ceil_div(out_rows, row_unit);
    const bool height = p.layout == TensorMemoryLayout::height_sharded;
    if (height && !out_tiled) channel_unit = kChannelUnit;
    const std::int64_t channels = ceil_div(p.channels, channel_unit);
    plan.parallel = {p.layout, {}, ShardOrientation::row_major, 1, 1};
    switch (p.layout) {
      case TensorMemoryLayout::height_sharded:
        plan.parallel.row_parts = parts_without_idle(units, cores);
        plan.parallel.cores = first_cores(plan.parallel.row_parts, p.grid);
        break;
      case TensorMemoryLayout::width_sharded:
        plan.parallel.channel_parts = channel_parts(channels, channel_unit, cores);
        plan.parallel.cores = first_cores(plan.parallel.channel_parts, p.grid);
        break;
      case TensorMemoryLayout::block_sharded:
        plan.parallel.row_parts = parts_without_idle(units, p.grid.y);
        plan.parallel.channel_parts = channel_parts(channels, channel_unit, p.grid.x);
        plan.parallel.cores = CoreRange(
            {0, 0}, {static_cast<int>(plan.parallel.channel_parts) - 1, static_cast<int>(plan.parallel.row_parts) - 1});
        break;
      default: fail(Code::invalid_argument, "pool: {} is no way to shard an image", name(p.layout));
    }
    const std::int64_t width = ceil_div(channels, plan.parallel.channel_parts) * channel_unit;
    // What is read needs only whole transfers of 16 bytes.
    plan.input_shard = {
        round_up(ceil_div(p.in_rows(), plan.parallel.row_parts), in_tiled || p.rows_of_tiles ? kTile : 1),
        in_tiled ? round_up(width, kTile) : round_up(ceil_div(p.channels, plan.parallel.channel_parts), kTransferUnit)};
    plan.output_shard = {round_up(ceil_div(out_rows, plan.parallel.row_parts), row_unit), width};
  }
  // What a core computes; the halo is as wide as its input.
  plan.halo =
      plan_halo(plan.window, plan.parallel, plan.input_shard, plan.output_shard.height, p.input_dtype, p.input_layout);
  plan.reader_bytes = window_list_bytes(plan.window, plan.output_shard.height);

  const std::int64_t tile = tile_bytes(DType::bfloat16);
  const auto add = [&](const char* buffer_name, std::int64_t tiles) {
    plan.buffers.push_back({buffer_name, tiles * tile, tiles, DType::bfloat16});
  };
  const SlidingWindow& w = plan.window.window;
  const bool padded = w.top + w.bottom + w.left + w.right > 0;
  const bool grown = w.bottom != p.window.bottom || w.right != p.window.right;
  add("scalar", 2);
  // Averages whose divisor changes along the border.
  if (p.kind == PoolKind::average && !p.divisor_override && ((padded && !p.count_include_pad) || grown))
    add("scalar", 2);
  add("clear", 1);
  // With indices, one tile of channels is looked at at a time.
  const std::int64_t tiles = p.indices ? 1 : window_tiles(w, plan.output_shard.width);
  add("in", 2 * tiles);
  add("in", 2 * tiles);
  if (p.indices) {
    const auto add_indices = [&] { plan.buffers.push_back({"indices", tile_bytes(*p.indices), 1, *p.indices}); };
    add_indices();
    add("values", 1);
    for (int i = 0; i < 5; ++i) add_indices();
  }
  if (out_tiled) add("out before tilizing", ceil_div(plan.output_shard.width, kTile));
  return plan;
}

PoolPlan plan_pool_anywhere(PoolProblem problem) {
  const SlidingWindow w = rounded_window(problem);
  const std::int64_t rows = ceil_div(problem.batch * w.out_h(problem.height) * w.out_w(problem.width), kTile);
  const bool tiled = problem.input_layout == Layout::tile || problem.output_layout == Layout::tile;
  const std::int64_t cores = std::int64_t{problem.grid.x} * problem.grid.y;
  const auto estimate = [&](TensorMemoryLayout layout) {
    const bool height = layout == TensorMemoryLayout::height_sharded,
               block = layout == TensorMemoryLayout::block_sharded;
    const bool wide = block || problem.output_layout == Layout::tile || (tiled && !height);
    const std::int64_t unit = wide ? kTile : kChannelUnit, channels = ceil_div(problem.channels, unit);
    const std::int64_t down = height  ? parts_without_idle(rows, cores)
                              : block ? parts_without_idle(rows, problem.grid.y)
                                      : 1;
    const std::int64_t across = height ? 1 : channel_parts(channels, unit, block ? problem.grid.x : cores);
    const std::int64_t width = ceil_div(channels, across) * unit;
    return ceil_div(rows, down) * kTile * width * element_bytes(DType::bfloat16) +
           4 * window_tiles(w, width) * tile_bytes(DType::bfloat16);
  };
  std::optional<std::int64_t> least;
  for (const TensorMemoryLayout layout :
       {TensorMemoryLayout::height_sharded, TensorMemoryLayout::width_sharded, TensorMemoryLayout::block_sharded}) {
    const std::int64_t bytes = estimate(layout);
    if (least && bytes >= *least) continue;
    least = bytes;
    problem.layout = layout;
  }
  problem.whole_tiles = problem.layout == TensorMemoryLayout::block_sharded;
  return plan_pool(problem);
}

}  // namespace tessera::tensix
