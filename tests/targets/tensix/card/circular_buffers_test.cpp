#include "tessera/targets/tensix/card/circular_buffers.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

std::vector<CircularBuffer> on(const CoreRangeSet& cores, const std::vector<std::int64_t>& sizes) {
  std::vector<CircularBuffer> out;
  for (std::int64_t bytes : sizes) out.push_back({"cb", cores, bytes});
  return out;
}

// A ResNet-50 3x3 convolution (batch 16, 56x56x64) as ttnn 0.81.1 places it on an n150 with l1_small 16384.
TEST(CircularBuffers, LieOneAfterTheOtherFromTheUnreservedBase) {
  const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 16384});
  const CoreRangeSet cores(std::vector{CoreRange({0, 0}, {7, 6}), CoreRange({0, 7}, {6, 7})});
  const auto placed = place_circular_buffers(*device, on(cores, {13056, 159744, 147456, 307200, 2176, 64}), 4);
  const std::vector<std::int64_t> addresses{105824, 118880, 278624, 426080, 733280, 735456};
  ASSERT_EQ(placed.buffers.size(), addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) EXPECT_EQ(placed.buffers[i].address, addresses[i]);
  for (const CircularBufferRegion& region : placed.regions) EXPECT_EQ(region.end_address, 735520);
}

TEST(CircularBuffers, EachCoreOnlyCountsItsOwn) {
  const auto device = Device::open(load_machine("wormhole_n150"));
  const CoreRange left({0, 0}, {3, 7}), all({0, 0}, {7, 7}), right({4, 0}, {7, 7});
  const auto placed =
      place_circular_buffers(*device, {{"a", left, 1000}, {"b", right, 64}, {"c", right, 64}, {"d", all, 32}}, 0);
  EXPECT_EQ(placed.buffers[1].address, 105824);
  EXPECT_EQ(placed.buffers[2].address, 105824 + 64);
  EXPECT_EQ(placed.buffers[3].address, 105824 + 1024);  // above the highest of its cores, aligned as tensors are
}

std::string refusal(const Device& device, const std::vector<CircularBuffer>& buffers, std::int64_t program) {
  try {
    place_circular_buffers(device, buffers, program);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    return error.what();
  }
  return "";
}

TEST(CircularBuffers, BeyondTheEndOfL1NamesBothNumbers) {
  const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 16384});
  const std::string text = refusal(*device, on(CoreRange({0, 0}, {7, 0}), {3660480}), 6);
  for (const char* part : {"beyond max L1 size", "[0-0 - 7-0]", "3766304", "1499136"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(CircularBuffers, ClashNamesTheLowestBufferAndTheEnd) {
  const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 16384});
  // 423424 bytes per bank leave the lowest buffer at 1059328, as in the ttnn message that this reproduces.
  const std::int64_t pages = (1499136 - 16384 - 1059328) / 64;
  const MemoryConfig config(TensorMemoryLayout::height_sharded, BufferType::l1,
                            ShardSpec{CoreRange({0, 0}, {7, 3}), {pages, 32}});
  const DeviceTensor t =
      DeviceTensor::allocate(device, TensorSpec(Shape{pages * 32, 32}, DType::bfloat16, Layout::row_major, config));
  ASSERT_EQ(t.address(), 1059328);
  const std::string text = refusal(*device, on(CoreRange({0, 0}, {7, 3}), {1219520}), 6);
  for (const char* part : {"clash with L1 buffers", "program 6", "[0-0 - 7-3]", "1059328", "1325344"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(refusal(*device, on(CoreRange({0, 0}, {7, 3}), {1059328 - 105824}), 6), "");
}

TEST(CircularBuffers, RefuseCoresThatDoNotExist) {
  const auto device = Device::open(load_machine("wormhole_n150"));
  EXPECT_THROW(place_circular_buffers(*device, on(CoreRange({0, 0}, {8, 0}), {64}), 0), Error);
  EXPECT_THROW(place_circular_buffers(*device, on(CoreRange({0, 0}, {0, 0}), {0}), 0), Error);
  EXPECT_THROW(place_circular_buffers(*device, {{"none", {}, 64}}, 0), Error);
}

}  // namespace
}  // namespace tessera::tensix
