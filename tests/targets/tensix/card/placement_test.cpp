#include "tessera/targets/tensix/card/placement.h"

#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

// Of a matrix of 40 x 96 elements.
ShardSpec shards(TensorMemoryLayout layout, Layout in, CoreGrid grid) {
  const TensorSpec spec({1, 1, 40, 96}, DType::bfloat16, in, kDramMemoryConfig);
  return *shards_for(layout, BufferType::l1, spec, grid).shard_spec();
}

void expect_shards(const ShardSpec& found, CoreRange cores, Extent2d shape) {
  EXPECT_EQ(found.grid.to_string(), CoreRangeSet(cores).to_string());
  EXPECT_EQ(found.shape, shape);
}

TEST(Placement, BlocksBeginAtTheFirstCoreAndTakeNoMoreThanTheyNeed) {
  expect_shards(shards(TensorMemoryLayout::block_sharded, Layout::tile, {8, 8}), CoreRange({0, 0}, {2, 1}), {32, 32});
  expect_shards(shards(TensorMemoryLayout::block_sharded, Layout::row_major, {8, 8}), CoreRange({0, 0}, {7, 7}),
                {5, 12});
}

TEST(Placement, RowsAndColumnsGoToTheFirstCores) {
  expect_shards(shards(TensorMemoryLayout::height_sharded, Layout::tile, {8, 8}), CoreRange({0, 0}, {1, 0}), {32, 96});
  expect_shards(shards(TensorMemoryLayout::width_sharded, Layout::tile, {8, 8}), CoreRange({0, 0}, {2, 0}), {64, 32});
}

TEST(Placement, AllCoresAreThoseOfTheGrid) {
  const auto device = Device::open(load_machine("wormhole_n150"), {.values = false});
  const CoreGrid grid = device->grid();
  EXPECT_EQ(all_cores(*device).num_cores(), std::int64_t{grid.x} * grid.y);
}

}  // namespace
}  // namespace tessera::tensix
