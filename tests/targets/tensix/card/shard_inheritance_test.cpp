#include "tessera/targets/tensix/card/shard_inheritance.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

// The shard of what an operation makes of a tensor that lies on 2 x 3 cores so.
Extent2d inherited(TensorMemoryLayout sharding, Layout layout, const Shape& from, Extent2d shard, const Shape& to) {
  const CoreRange cores =
      sharding == TensorMemoryLayout::block_sharded ? CoreRange({0, 0}, {2, 1}) : CoreRange({0, 0}, {1, 0});
  const TensorSpec spec(from, DType::bfloat16, layout, MemoryConfig(sharding, BufferType::l1, ShardSpec{cores, shard}));
  return inherited_placement(spec, to).shard_spec()->shape;
}

TEST(ShardInheritance, RowsAndColumnsAreDividedToTheElement) {
  EXPECT_EQ(inherited(TensorMemoryLayout::width_sharded, Layout::row_major, {1, 1, 8, 64}, {8, 32}, {1, 1, 8, 10}),
            (Extent2d{8, 5}));
  EXPECT_EQ(inherited(TensorMemoryLayout::height_sharded, Layout::row_major, {1, 1, 8, 64}, {4, 64}, {1, 1, 6, 64}),
            (Extent2d{3, 64}));
  EXPECT_EQ(inherited(TensorMemoryLayout::block_sharded, Layout::row_major, {1, 1, 8, 48}, {4, 16}, {1, 1, 6, 21}),
            (Extent2d{3, 7}));
}

TEST(ShardInheritance, TilesAreNotCut) {
  EXPECT_EQ(inherited(TensorMemoryLayout::width_sharded, Layout::tile, {1, 1, 32, 128}, {32, 64}, {1, 1, 32, 66}),
            (Extent2d{32, 64}));
  EXPECT_EQ(inherited(TensorMemoryLayout::height_sharded, Layout::tile, {1, 1, 64, 32}, {32, 32}, {1, 1, 96, 32}),
            (Extent2d{64, 32}));
}

TEST(ShardInheritance, WhatIsNotShardedStaysWhereItIs) {
  for (const MemoryConfig& config : {kDramMemoryConfig, kL1MemoryConfig})
    EXPECT_EQ(inherited_placement(TensorSpec({1, 1, 8, 8}, DType::bfloat16, Layout::tile, config), {3, 5}), config);
}

}  // namespace
}  // namespace tessera::tensix
