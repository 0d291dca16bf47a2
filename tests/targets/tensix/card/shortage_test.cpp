// Every way in which a card's memory can be too small, told apart by a type and with the numbers found.

#include "tessera/core/refusal.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kBase = 105824, kEnd = 1499136, kSmall = 16384;  // of a core's L1 on n150

std::shared_ptr<Device> n150() {
  return Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = kSmall, .values = false});
}

Refusal refused(Device& device, BufferType type, std::int64_t bytes_per_bank) {
  const auto buffer = attempt([&] { return device.allocate(type, {bytes_per_bank, bytes_per_bank, 1}); });
  return buffer ? Refusal{} : buffer.refusal();
}

Refusal refused_program(const Device& device, std::int64_t bytes) {
  const std::vector<CircularBuffer> buffers{{"in", CoreRange({0, 0}, {7, 3}), bytes}};
  const auto placed = attempt([&] { return place_circular_buffers(device, buffers, 6); });
  return placed ? Refusal{} : placed.refusal();
}

void expect_bytes(const Refusal& refusal, std::int64_t requested, std::int64_t free, std::int64_t largest) {
  EXPECT_EQ(refusal.code, Code::out_of_memory);
  EXPECT_EQ(refusal.requested_bytes, requested);
  EXPECT_EQ(refusal.free_bytes, free);
  EXPECT_EQ(refusal.largest_free_bytes, largest);
}

TEST(Shortage, TensorsDoNotFitIntoL1) {
  const auto device = n150();
  const Refusal refusal = refused(*device, BufferType::l1, 2 << 20);
  EXPECT_EQ(refusal.shortage, Shortage::l1);
  expect_bytes(refusal, 2 << 20, kEnd - kSmall - kBase, kEnd - kSmall - kBase);
  EXPECT_THAT(refusal.message, HasSubstr("Out of Memory"));
}

TEST(Shortage, L1InPieces) {
  const auto device = n150();
  const std::int64_t half = (kEnd - kSmall - kBase) / 64 * 32;
  auto above = device->allocate(BufferType::l1, {half - 32, half - 32, 1});
  const auto middle = device->allocate(BufferType::l1, {64, 64, 1});
  above.reset();
  const std::int64_t free = kEnd - kSmall - kBase - 64;
  const Refusal refusal = refused(*device, BufferType::l1, free);
  EXPECT_EQ(refusal.shortage, Shortage::l1);
  expect_bytes(refusal, free, free, std::max(half - 32, free - (half - 32)));
}

TEST(Shortage, CircularBuffersAloneAreTooLarge) {
  const auto device = n150();
  const Refusal refusal = refused_program(*device, 3660480);
  EXPECT_EQ(refusal.shortage, Shortage::program);
  expect_bytes(refusal, 3660480, kEnd - kBase, kEnd - kBase);
}

TEST(Shortage, CircularBuffersClashWithTensors) {
  const auto device = n150();
  const auto tensor = device->allocate(BufferType::l1, {423424, 423424, 1});
  ASSERT_EQ(tensor->address(), 1059328);
  const Refusal refusal = refused_program(*device, 1219520);
  EXPECT_EQ(refusal.shortage, Shortage::l1_clash);
  expect_bytes(refusal, 1219520, 1059328 - kBase, 1059328 - kBase);
  EXPECT_THAT(refusal.reason(), HasSubstr("buffers in program 6 clash with"));
  EXPECT_THAT(refusal.lasting_reason(), HasSubstr("buffers clash with"));
}

TEST(Shortage, L1SmallAndDram) {
  const auto device = n150();
  const Refusal small = refused(*device, BufferType::l1_small, 2 * kSmall);
  EXPECT_EQ(small.shortage, Shortage::l1_small);
  expect_bytes(small, 2 * kSmall, kSmall, kSmall);

  const std::int64_t bank = device->memory_view(BufferType::dram).total_bytes_per_bank;
  const Refusal dram = refused(*device, BufferType::dram, bank + 32);
  EXPECT_EQ(dram.shortage, Shortage::dram);
  expect_bytes(dram, bank + 32, bank, bank);
  EXPECT_EQ(refused(*device, BufferType::dram, bank).shortage, Shortage::none);
}

TEST(Shortage, AHintSaysWhatWouldHelp) {
  const auto with = n150();
  const auto without = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 0, .values = false});
  EXPECT_THAT(refused(*with, BufferType::l1_small, 2 * kSmall).hint, HasSubstr("pass a larger l1_small_size"));
  EXPECT_THAT(refused(*without, BufferType::l1_small, 64).hint, HasSubstr("L1_SMALL has 0 B until"));
  EXPECT_THAT(refused(*with, BufferType::l1, 2 << 20).hint, HasSubstr("shard over more cores"));
}

}  // namespace
}  // namespace tessera::tensix
