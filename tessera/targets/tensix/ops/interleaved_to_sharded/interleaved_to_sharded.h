#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

namespace tessera::tensix {

// The sharded config, in L1, of the forms of interleaved_to_sharded that take a shard: on the first cores of a grid
// that starts at (0, 0), row by row or column by column as the orientation says, as many as there are shards; or on
// given cores.
TSR_API MemoryConfig sharded_config(const TensorSpec& from, const CoreGrid& grid, const Extent2d& shard,
                                    TensorMemoryLayout layout, ShardOrientation orientation);
TSR_API MemoryConfig sharded_config(const CoreRangeSet& grid, const Extent2d& shard, TensorMemoryLayout layout,
                                    ShardOrientation orientation);

}  // namespace tessera::tensix
