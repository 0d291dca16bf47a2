// The examples of the sharding guide, and what cannot exist.

#include "tessera/targets/tensix/card/tensor_spec.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/sharded_memory_config.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::tensix {
namespace {

TensorSpec tiles(const Shape& shape) {
  return TensorSpec(shape, DType::bfloat16, Layout::tile,
                    MemoryConfig(TensorMemoryLayout::interleaved, BufferType::l1));
}

Extent2d shard(const TensorSpec& spec) { return spec.memory_config().shard_spec()->shape; }

TEST(TensorSpec, ShardsAsTheGuideSays) {
  const CoreRange eight({0, 0}, {1, 3}), sixteen({0, 0}, {3, 3});
  EXPECT_EQ(shard(tiles({256, 768}).height_sharded(eight)), (Extent2d{32, 768}));
  EXPECT_EQ(shard(tiles({64, 512}).width_sharded(eight)), (Extent2d{64, 64}));
  EXPECT_EQ(shard(tiles({256, 256}).block_sharded(sixteen)), (Extent2d{64, 64}));
}

TEST(TensorSpec, ShardingASpecAgainForgetsTheOldShards) {
  const CoreRange eight({0, 0}, {7, 0}), two({0, 0}, {1, 0});
  EXPECT_EQ(shard(tiles({256, 256}).width_sharded(eight).height_sharded(two)), (Extent2d{128, 256}));
}

TEST(TensorSpec, RefusesWhatCannotExist) {
  const auto l1 = MemoryConfig(TensorMemoryLayout::interleaved, BufferType::l1);
  EXPECT_THROW(TensorSpec({32, 32}, DType::bfloat8_b, Layout::row_major, l1), Error);
  EXPECT_THROW(TensorSpec({32, 32}, DType::bfloat16, Layout::row_major, l1, {16, 32}), Error);
  EXPECT_THROW(TensorSpec({32, 32}, DType::bfloat16, Layout::tile, l1, {7, 32}), Error);
  EXPECT_THROW(TensorSpec({32, 32}, DType::bfloat16, Layout::tile,
                          MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1)),
               Error);
  EXPECT_THROW(tiles({0, 32}).height_sharded(CoreRange({0, 0}, {1, 0})), Error);
  EXPECT_THROW(tiles({32, 32}).height_sharded(CoreRangeSet()), Error);
  EXPECT_THROW(
      tiles({32, 32}).block_sharded(CoreRangeSet(std::vector{CoreRange(CoreCoord{0, 0}), CoreRange(CoreCoord{2, 0})})),
      Error);
  EXPECT_THROW(tiles({32, 32}).sharded_across_dims(std::vector{2}, CoreRange({0, 0}, {1, 0})), Error);
}

TEST(TensorSpec, CreateShardedMemoryConfigDividesExactly) {
  const CoreRangeSet grid = CoreGrid{8, 8}.to_core_range_set();
  EXPECT_EQ(create_sharded_memory_config({Shape{1, 1, 2048, 64}, grid}).shard_spec()->shape, (Extent2d{32, 64}));
  EXPECT_EQ(create_sharded_memory_config({Shape{1, 1, 1024, 512}, CoreGrid{4, 8}.to_core_range_set(),
                                          ShardStrategy::block, ShardOrientation::col_major})
                .shard_spec()
                ->shape,
            (Extent2d{128, 128}));
  EXPECT_EQ(create_sharded_memory_config(
                {Shape{1, 1, 800, 64}, grid, ShardStrategy::height, ShardOrientation::col_major, true})
                .shard_spec()
                ->shape,
            (Extent2d{64, 800}));
  try {
    create_sharded_memory_config({Shape{1, 1, 1000, 64}, grid});
    FAIL() << "1000 rows do not divide over 64 cores";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Invalid sharding core_grid"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("1000"), std::string::npos) << error.what();
  }
}

TEST(PageMap, EveryPageHasAPlaceOfItsOwn) {
  const auto device = Device::open(load_machine("wormhole_n150"));
  const std::vector<TensorSpec> specs{
      tiles({1000, 500}),
      tiles({1000, 500}).height_sharded(CoreRange({0, 0}, {7, 7})),
      tiles({96, 160}).block_sharded(CoreRange({1, 2}, {3, 5}), ShardOrientation::col_major),
      tiles({4, 3, 96, 160}).sharded_across_dims(std::vector{2, 3}, CoreRange({0, 0}, {1, 1})),
      TensorSpec(
          {4, 3, 96, 160}, DType::uint8, Layout::row_major,
          MemoryConfig(BufferType::l1, NdShardSpec{Shape{2, 3, 7, 32}, CoreRange({0, 0}, {2, 2}),
                                                   ShardOrientation::col_major, ShardDistribution::contiguous_1d})),
      // Five shards in runs of two need three banks of four.
      TensorSpec(
          {5, 8, 32}, DType::uint8, Layout::row_major,
          MemoryConfig(BufferType::l1, NdShardSpec{Shape{1, 8, 32}, CoreRange({0, 0}, {3, 0}),
                                                   ShardOrientation::row_major, ShardDistribution::contiguous_1d})),
  };
  for (const TensorSpec& spec : specs) {
    const PageMap map(spec, device->banks(BufferType::l1));
    std::set<std::pair<int, std::int64_t>> places;
    for (std::int64_t i = 0; i < map.num_pages(); ++i) {
      const PagePlace at = map.place(i);
      EXPECT_TRUE(places.emplace(at.bank, at.slot).second) << "page " << i << " of " << spec.to_string();
      EXPECT_LT(at.slot, map.slots_per_bank());
      EXPECT_LT(at.bank, 64);
    }
    std::set<int> banks;
    for (const auto& [bank, slot] : places) banks.insert(bank);
    EXPECT_EQ(map.banks_used(), static_cast<int>(banks.size())) << spec.to_string();
  }
}

TEST(Device, RefusesMachinesWithoutBanks) {
  EXPECT_THROW(Device::open(load_machine("cpu_avx2")), Error);
  EXPECT_THROW(Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 2 << 20}), Error);
  EXPECT_THROW(Device::open(load_machine("wormhole_n150"), {.command_queues = 3}), Error);
}

TEST(Device, UseAfterCloseIsAnError) {
  const auto device = Device::open(load_machine("wormhole_n150"));
  DeviceTensor t = to_device(Tensor({32, 32}, DType::bfloat16, Layout::tile), device);
  device->close();
  device->close();
  EXPECT_FALSE(t.is_allocated());
  EXPECT_THROW(from_device(t), Error);
  EXPECT_THROW(DeviceTensor::allocate(device, t.spec()), Error);
  t.deallocate();
}

}  // namespace
}  // namespace tessera::tensix
