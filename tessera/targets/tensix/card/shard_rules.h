#pragma once

// The rules that a sharding must keep, one function each. tensor_spec.cpp calls them in the order in which TTNN
// reports faults; each refusal names the numbers that scripts look for.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/memory_config.h"

#include <optional>
#include <vector>

namespace tessera::tensix {

// The padded shape with its leading dimensions folded so that it has `rank` dimensions.
TSR_API std::vector<std::int64_t> folded_dims(const Shape& padded, int rank);

void check_shard_is_tiles(const ShardSpec& shard, const Tile& tile);
void check_shard_is_tiles(const NdShardSpec& shard, const Tile& tile);

// Shard against the physical matrix and the number of cores, for the three 2-D layouts.
void check_shard_fits(TensorMemoryLayout layout, const ShardSpec& shard, const Extent2d& physical);
// Rank and distribution of an n-D sharding.
void check_shard_fits(const NdShardSpec& shard, const Shape& padded);

// The 2-D layout that says the same as an n-D sharding, if there is one.
struct Sharding2d {
  TensorMemoryLayout layout;
  ShardSpec spec;
};
std::optional<Sharding2d> as_2d_sharding(const NdShardSpec& shard, const Shape& padded);

// The n-D form of a 2-D sharding.
NdShardSpec as_nd_sharding(TensorMemoryLayout layout, const ShardSpec& shard);

}  // namespace tessera::tensix
