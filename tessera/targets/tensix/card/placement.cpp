#include "tessera/targets/tensix/card/placement.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"

namespace tessera::tensix {

CoreRangeSet all_cores(const Device& device) {
  const CoreGrid grid = device.grid();
  return CoreRange({0, 0}, {grid.x - 1, grid.y - 1});
}

CoreRangeSet first_cores(std::int64_t count, CoreGrid grid, bool row_wise) {
  return num_cores_to_corerangeset({0, 0}, count, grid, row_wise);
}

MemoryConfig shards_for(TensorMemoryLayout layout, BufferType buffer, const TensorSpec& result, CoreGrid grid) {
  const Extent2d matrix = result.physical();
  const bool tiled = result.layout() == Layout::tile;
  const std::int64_t row_unit = tiled ? result.tile().height : 1, column_unit = tiled ? result.tile().width : 1;
  check(matrix.height > 0 && matrix.width > 0, Code::invalid_argument,
        "an empty tensor of shape {} cannot be cut into {} shards", result.logical_shape().to_string(), name(layout));
  const auto part = [](std::int64_t extent, std::int64_t cores, std::int64_t unit) {
    return round_up(ceil_div(extent, cores), unit);
  };
  const std::int64_t cores = std::int64_t{grid.x} * grid.y;
  switch (layout) {
    case TensorMemoryLayout::height_sharded: {
      const std::int64_t rows = part(matrix.height, cores, row_unit);
      return MemoryConfig(layout, buffer,
                          ShardSpec{first_cores(ceil_div(matrix.height, rows), grid), {rows, matrix.width}});
    }
    case TensorMemoryLayout::width_sharded: {
      const std::int64_t columns = part(matrix.width, cores, column_unit);
      return MemoryConfig(layout, buffer,
                          ShardSpec{first_cores(ceil_div(matrix.width, columns), grid), {matrix.height, columns}});
    }
    case TensorMemoryLayout::block_sharded: {
      const Extent2d shard{part(matrix.height, grid.y, row_unit), part(matrix.width, grid.x, column_unit)};
      const CoreRange used({0, 0}, {static_cast<int>(ceil_div(matrix.width, shard.width)) - 1,
                                    static_cast<int>(ceil_div(matrix.height, shard.height)) - 1});
      return MemoryConfig(layout, buffer, ShardSpec{used, shard});
    }
    default: return MemoryConfig(layout, buffer);
  }
}

MemoryConfig placement_like(const std::optional<MemoryConfig>& wish, const TensorSpec& x, CoreGrid grid) {
  const MemoryConfig& from = x.memory_config();
  if (!wish) return from;
  if (!wish->is_sharded() || wish->shard_spec() || wish->nd_shard_spec()) return *wish;
  if (from.shard_spec()) return MemoryConfig(wish->layout(), wish->buffer_type(), from.shard_spec());
  return shards_for(wish->layout(), wish->buffer_type(), x, grid);
}

void check_program_fits(const Device& device, const std::vector<CircularBuffer>& buffers) {
  std::vector<CircularBuffer> placed;
  for (const CircularBuffer& buffer : buffers)
    if (buffer.bytes > 0) placed.push_back(buffer);
  place_circular_buffers(device, placed, device.next_program_id());
}

std::int64_t tile_bytes(DType dtype) { return tessera::tile_bytes(Tile{}, dtype); }

std::int64_t free_l1_bytes(const Device& device) {
  const std::optional<std::int64_t> lowest = device.allocator().lowest_l1_address();
  return lowest.value_or(device.card().l1_bytes - device.options().l1_small_bytes) -
         device.allocator().circular_buffer_base();
}

}  // namespace tessera::tensix
