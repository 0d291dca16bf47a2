// Random tensors through random chains of legal places: the bits must arrive, the bytes must add up, nothing may leak.

#include "random_tensors.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/move/move.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

namespace tr = testing_random;

class Moves : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<Device> device = Device::open(load_machine(GetParam()));

  MemoryConfig place(tr::Rng& rng, const Tensor& x) {
    return tr::place(rng, x.shape(), x.dtype(), x.layout(), device->grid().x, device->grid().y,
                     device->card().dram_banks);
  }
  std::int64_t allocated(BufferType type) const { return device->memory_view(type).allocated_bytes_per_bank; }
};

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.layout() == b.layout() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

TEST_P(Moves, BitsArriveThroughRandomChainsOfPlaces) {
  tr::Rng rng(1);
  const std::vector<DType> dtypes(all_dtypes().begin(), all_dtypes().end());
  for (int trial = 0; trial < 150; ++trial) {
    const DType dtype = tr::pick(rng, dtypes);
    const Layout layout = is_block_float(dtype) || tr::between(rng, 0, 1) ? Layout::tile : Layout::row_major;
    const Tensor x = tr::tensor(rng, tr::shape(rng), dtype, layout);
    DeviceTensor t = to_device(x, device, place(rng, x));
    for (int hop = 0; hop < 4; ++hop) {
      const MemoryConfig to = place(rng, x);
      const std::int64_t records = static_cast<std::int64_t>(device->trace().size());
      DeviceTensor next = to_memory_config(t, to);
      ASSERT_EQ(next.spec().memory_config(), TensorSpec(x.shape(), dtype, layout, to).memory_config());
      if (static_cast<std::int64_t>(device->trace().size()) > records) {
        const Transfer& moved = device->trace().back().transfers.front();
        ASSERT_GE(moved.bytes, x.shape().volume() * element_bytes(dtype)) << "less was moved than the tensor holds";
        ASSERT_LE(moved.local_bytes, moved.bytes);
        ASSERT_LE(moved.busiest_bank_bytes, moved.bytes);
        ASSERT_EQ(moved.to == MemoryKind::dram, to.buffer_type() == BufferType::dram);
      }
      t = std::move(next);
    }
    ASSERT_TRUE(same_bytes(from_device(t), x)) << x.to_string() << " ended in " << t.spec().memory_config().to_string();
    device->clear_trace();
  }
  EXPECT_EQ(allocated(BufferType::l1), 0);
  EXPECT_EQ(allocated(BufferType::dram), 0);
}

TEST_P(Moves, NamedMovesDoWhatToMemoryConfigDoes) {
  tr::Rng rng(2);
  for (int trial = 0; trial < 60; ++trial) {
    const Tensor x =
        tr::tensor(rng, tr::shape(rng), DType::bfloat16, tr::between(rng, 0, 1) ? Layout::tile : Layout::row_major);
    MemoryConfig sharded = place(rng, x);
    if (!sharded.is_sharded() || sharded.is_dram()) continue;
    const DeviceTensor flat = to_device(x, device);
    const DeviceTensor shards = interleaved_to_sharded(flat, sharded);
    EXPECT_TRUE(same_bytes(from_device(shards), x));
    EXPECT_TRUE(same_bytes(from_device(sharded_to_interleaved(shards)), x));
    MemoryConfig other = place(rng, x);
    if (other.is_sharded() && !other.is_dram()) {
      EXPECT_TRUE(same_bytes(from_device(reshard(shards, other)), x));
    }
    EXPECT_TRUE(same_bytes(from_device(clone(shards)), x));
    EXPECT_THROW(reshard(flat, sharded), Error);
    EXPECT_THROW(reshard(shards, kL1MemoryConfig), Error);
    EXPECT_THROW(interleaved_to_sharded(shards, sharded), Error);
    EXPECT_THROW(interleaved_to_sharded(flat, kL1MemoryConfig), Error);
  }
}

TEST_P(Moves, TilesAndRowsConvertWhereTheyAre) {
  tr::Rng rng(3);
  for (int trial = 0; trial < 60; ++trial) {
    const DType dtype =
        tr::pick(rng, std::vector{DType::float32, DType::bfloat16, DType::uint32, DType::uint16, DType::int32});
    const Tensor x = tr::tensor(rng, tr::shape(rng), dtype, Layout::row_major);
    const DeviceTensor rows = to_device(x, device, tr::between(rng, 0, 1) ? kL1MemoryConfig : kDramMemoryConfig);
    const DeviceTensor tiles = to_layout(rows, Layout::tile);
    EXPECT_EQ(tiles.spec().memory_config(), rows.spec().memory_config());
    EXPECT_TRUE(same_bytes(from_device(tiles), to_layout(x, Layout::tile)));
    EXPECT_TRUE(same_bytes(from_device(to_layout(tiles, Layout::row_major)), x)) << x.to_string();
  }
}

// As TTNN 0.81.1 answers on a mocked n150.
TEST_P(Moves, RowsLoseThePaddingThatTheirTilesHad) {
  struct Case {
    TensorMemoryLayout layout;
    int columns, rows;
    Extent2d shard, tensor, untilized;
  };
  constexpr auto kHeight = TensorMemoryLayout::height_sharded, kWidth = TensorMemoryLayout::width_sharded,
                 kBlock = TensorMemoryLayout::block_sharded;
  tr::Rng rng(5);
  for (const Case& c :
       {Case{kHeight, 4, 1, {64, 64}, {256, 48}, {64, 48}}, Case{kHeight, 4, 1, {64, 64}, {250, 48}, {64, 48}},
        Case{kHeight, 4, 1, {64, 32}, {200, 8}, {64, 8}}, Case{kHeight, 4, 1, {128, 32}, {200, 8}, {64, 8}},
        Case{kHeight, 4, 1, {128, 64}, {256, 64}, {128, 64}}, Case{kHeight, 4, 1, {64, 32}, {250, 32}, {64, 32}},
        Case{kBlock, 2, 2, {64, 32}, {100, 48}, {64, 32}}, Case{kWidth, 2, 1, {64, 32}, {50, 48}, {50, 32}},
        Case{kWidth, 2, 1, {64, 32}, {64, 48}, {64, 32}}}) {
    const CoreRangeSet cores(CoreRange({0, 0}, {c.columns - 1, c.rows - 1}));
    const Tensor x = tr::tensor(rng, Shape{1, 1, c.tensor.height, c.tensor.width}, DType::bfloat16, Layout::row_major);
    const DeviceTensor tiles = to_device(to_layout(x, Layout::tile), device,
                                         MemoryConfig(c.layout, BufferType::l1, ShardSpec{cores, c.shard}));
    const DeviceTensor rows = to_layout(tiles, Layout::row_major);
    EXPECT_EQ(rows.spec().memory_config().shard_spec()->shape.height, c.untilized.height);
    EXPECT_EQ(rows.spec().memory_config().shard_spec()->shape.width, c.untilized.width);
    EXPECT_TRUE(same_bytes(from_device(rows), x));
  }
}

TEST_P(Moves, MoveSlidesIntoTheHoleAboveEvenIfItOverlaps) {
  tr::Rng rng(4);
  const Tensor x = tr::tensor(rng, Shape{256, 64}, DType::bfloat16, Layout::tile);
  const Tensor small = tr::tensor(rng, Shape{32, 64}, DType::bfloat16, Layout::tile);
  const MemoryConfig one_core(TensorMemoryLayout::height_sharded, BufferType::l1,
                              ShardSpec{CoreRange(CoreCoord{0, 0}), {256, 64}});
  const MemoryConfig small_core(TensorMemoryLayout::height_sharded, BufferType::l1,
                                ShardSpec{CoreRange(CoreCoord{0, 0}), {32, 64}});
  DeviceTensor above = to_device(small, device, small_core);
  const std::int64_t top = above.address() + 32 * 64 * 2;
  DeviceTensor t = to_device(x, device, one_core);
  above.deallocate();
  DeviceTensor moved = move(t);
  EXPECT_FALSE(t.is_allocated());
  EXPECT_EQ(moved.address(), top - 256 * 64 * 2);
  EXPECT_TRUE(same_bytes(from_device(moved), x));
  EXPECT_THROW(from_device(t), Error);
}

TEST_P(Moves, ARefusedMoveLeavesEverythingAsItWas) {
  tr::Rng rng(5);
  const Tensor x = tr::tensor(rng, Shape{64, 64}, DType::bfloat16, Layout::tile);
  DeviceTensor t = to_device(x, device);
  // More than a bank holds, taken by a tensor that fills L1.
  const std::int64_t bank = device->memory_view(BufferType::l1).total_bytes_per_bank;
  const int cores = device->grid().x * device->grid().y;
  const DeviceTensor filler = DeviceTensor::allocate(
      device, TensorSpec(Shape{bank / 2048 * 32 * cores, 32}, DType::bfloat16, Layout::tile, kL1MemoryConfig));
  const MemoryView before_l1 = device->memory_view(BufferType::l1), before_dram = device->memory_view(BufferType::dram);
  const std::size_t records = device->trace().size();
  try {
    const DeviceTensor wide =
        to_device(tr::tensor(rng, Shape{320, 320}, DType::float32, Layout::tile), device, kL1MemoryConfig);
    FAIL() << "there was no room";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
  }
  const MemoryConfig too_big(TensorMemoryLayout::height_sharded, BufferType::l1,
                             ShardSpec{CoreRange(CoreCoord{0, 0}), {64, 64}});
  EXPECT_THROW(move(t, too_big), Error);
  EXPECT_THROW(to_memory_config(t, too_big), Error);
  EXPECT_THROW(to_layout(t, Layout::row_major, std::nullopt, too_big), Error);
  EXPECT_TRUE(t.is_allocated());
  EXPECT_TRUE(same_bytes(from_device(t), x));
  EXPECT_EQ(device->memory_view(BufferType::l1).allocated_bytes_per_bank, before_l1.allocated_bytes_per_bank);
  EXPECT_EQ(device->memory_view(BufferType::l1).largest_free_block_bytes_per_bank,
            before_l1.largest_free_block_bytes_per_bank);
  EXPECT_EQ(device->memory_view(BufferType::dram).allocated_bytes_per_bank, before_dram.allocated_bytes_per_bank);
  EXPECT_EQ(device->trace().size(), records + 1);  // only the read above
  EXPECT_EQ(device->live_buffers().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Boards, Moves, testing::Values("wormhole_n150", "blackhole_p150"),
                         [](const auto& board) { return std::string(board.param); });

}  // namespace
}  // namespace tessera::tensix
