#include "tessera/targets/tensix/card/sharded_memory_config.h"

#include "tessera/core/error.h"

namespace tessera::tensix {
namespace {

TensorMemoryLayout layout_of(ShardStrategy strategy) {
  switch (strategy) {
    case ShardStrategy::height: return TensorMemoryLayout::height_sharded;
    case ShardStrategy::width: return TensorMemoryLayout::width_sharded;
    case ShardStrategy::block: return TensorMemoryLayout::block_sharded;
  }
  return TensorMemoryLayout::height_sharded;
}

std::int64_t divide(std::int64_t extent, std::int64_t cores, std::string_view what) {
  check(cores > 0 && extent % cores == 0, Code::invalid_argument,
        Hint{"pick a grid that divides the tensor, or use TensorSpec.height_sharded, width_sharded or block_sharded, "
             "which round up"},
        "Invalid sharding core_grid: {} {} is not a multiple of {} cores", what, extent, cores);
  return extent / cores;
}

}  // namespace

MemoryConfig create_sharded_memory_config(const ShardingRequest& request) {
  check(request.shape.rank() >= 2, Code::invalid_argument,
        "a tensor of shape {} has {} dimensions, but sharding divides 2 at least", request.shape.to_string(),
        request.shape.rank());
  const bool row_major = request.orientation == ShardOrientation::row_major;
  Extent2d shard;
  if (request.use_height_and_width_as_shard_shape) {
    shard = {request.shape[-2], request.shape[-1]};
    if (!row_major) std::swap(shard.height, shard.width);
  } else {
    const Extent2d matrix = request.shape.as_2d();
    const std::int64_t cores = request.grid.num_cores();
    switch (request.strategy) {
      case ShardStrategy::height: shard = {divide(matrix.height, cores, "height"), matrix.width}; break;
      case ShardStrategy::width: shard = {matrix.height, divide(matrix.width, cores, "width")}; break;
      case ShardStrategy::block: {
        check(request.grid.ranges().size() == 1, Code::invalid_argument,
              "Invalid sharding core_grid: block sharding needs a rectangle, not {}", request.grid.to_string());
        const CoreRange& grid = request.grid.ranges().front();
        shard = {divide(matrix.height, row_major ? grid.rows() : grid.columns(), "height"),
                 divide(matrix.width, row_major ? grid.columns() : grid.rows(), "width")};
      }
    }
  }
  return MemoryConfig(layout_of(request.strategy), BufferType::l1, ShardSpec{request.grid, shard, request.orientation});
}

MemoryConfig create_rounded_sharded_memory_config(const ShardingRequest& request, bool tile_layout) {
  if (request.use_height_and_width_as_shard_shape) return create_sharded_memory_config(request);
  check(request.shape.rank() >= 2, Code::invalid_argument,
        "a tensor of shape {} has {} dimensions, but sharding divides 2 at least", request.shape.to_string(),
        request.shape.rank());
  check(!request.grid.empty(), Code::invalid_argument, "a tensor cannot be sharded over an empty grid of cores");
  constexpr std::int64_t kTile = 32;
  const Extent2d matrix = request.shape.as_2d();
  const std::int64_t cores = request.grid.num_cores();
  Extent2d shard;
  switch (request.strategy) {
    case ShardStrategy::height: shard = {ceil_div(matrix.height, cores), matrix.width}; break;
    case ShardStrategy::width: shard = {matrix.height, ceil_div(matrix.width, cores)}; break;
    case ShardStrategy::block: {
      check(request.grid.ranges().size() == 1, Code::invalid_argument,
            "block sharding needs a rectangle of cores, not {}", request.grid.to_string());
      const CoreRange& grid = request.grid.ranges().front();
      const bool row_major = request.orientation == ShardOrientation::row_major;
      const std::int64_t rows = row_major ? grid.rows() : grid.columns(),
                         columns = row_major ? grid.columns() : grid.rows();
      shard = {round_up(ceil_div(matrix.height, rows), tile_layout ? kTile : 1), ceil_div(matrix.width, columns)};
    }
  }
  check(!tile_layout || shard.height % kTile == 0 || shard.width % kTile == 0, Code::invalid_argument,
        Hint{"pad the tensor, or use TensorSpec.height_sharded, width_sharded or block_sharded"},
        "a shard of ({}, {}) for a tensor in tiles is no whole tile in either direction", shard.height, shard.width);
  return MemoryConfig(layout_of(request.strategy), BufferType::l1, ShardSpec{request.grid, shard, request.orientation});
}

}  // namespace tessera::tensix
