#include "tessera/targets/tensix/ops/interleaved_to_sharded/interleaved_to_sharded.h"

#include "tessera/core/error.h"

namespace tessera::tensix {

MemoryConfig sharded_config(const CoreRangeSet& grid, const Extent2d& shard, TensorMemoryLayout layout,
                            ShardOrientation orientation) {
  check(layout == TensorMemoryLayout::height_sharded || layout == TensorMemoryLayout::width_sharded ||
            layout == TensorMemoryLayout::block_sharded,
        Code::invalid_argument, "interleaved_to_sharded: {} is no sharding scheme", name(layout));
  return MemoryConfig(layout, BufferType::l1, ShardSpec{grid, shard, orientation});
}

MemoryConfig sharded_config(const TensorSpec& from, const CoreGrid& grid, const Extent2d& shard,
                            TensorMemoryLayout layout, ShardOrientation orientation) {
  check(shard.height > 0 && shard.width > 0, Code::invalid_argument,
        "interleaved_to_sharded: a shard of ({}, {}) holds nothing", shard.height, shard.width);
  const Extent2d matrix = from.physical();
  const std::int64_t shards = ceil_div(matrix.height, shard.height) * ceil_div(matrix.width, shard.width);
  const bool row_wise = orientation == ShardOrientation::row_major;
  return sharded_config(num_cores_to_corerangeset({0, 0}, shards, grid, row_wise), shard, layout, orientation);
}

}  // namespace tessera::tensix
