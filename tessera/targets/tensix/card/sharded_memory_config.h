#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <optional>

namespace tessera::tensix {

// Where and how create_sharded_memory_config spreads a tensor.
struct ShardingRequest {
  Shape shape;
  CoreRangeSet grid;
  ShardStrategy strategy = ShardStrategy::height;
  ShardOrientation orientation = ShardOrientation::row_major;
  // Take the last two extents as the shard itself (swapped for col_major) instead of dividing the tensor.
  bool use_height_and_width_as_shard_shape = false;
};

// A sharded config in L1. Divides exactly or refuses; TensorSpec::height_sharded and its siblings round up instead.
TSR_API MemoryConfig create_sharded_memory_config(const ShardingRequest& request);

// The same, rounded up instead of refused. `tile_layout` is for tensors in tiles: blocks become whole tiles high, and a
// shard neither side of which is whole tiles is refused.
TSR_API MemoryConfig create_rounded_sharded_memory_config(const ShardingRequest& request, bool tile_layout);

}  // namespace tessera::tensix
