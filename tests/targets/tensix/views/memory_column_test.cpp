#include "tessera/targets/tensix/views/memory_column.h"

#include "memory_fixture.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

std::int64_t end_of(const MemoryColumn& column) {
  std::int64_t end = 0;
  for (const MemorySegment& segment : column) {
    EXPECT_EQ(segment.address, end) << "a gap or an overlap";
    EXPECT_GT(segment.bytes, 0);
    end += segment.bytes;
  }
  return end;
}

class MemoryColumnOf : public testing::TestWithParam<const char*> {};

TEST_P(MemoryColumnOf, EveryCoreAndBankIsCoveredToTheLastByte) {
  const UsedDevice used(GetParam());
  const MemoryState state = memory_state(*used.device, used.circular_buffers);
  for (int core = 0; core < state.cores.count(); ++core)
    EXPECT_EQ(end_of(core_column(state, core)), used.device->card().l1_bytes);
  for (int bank = 0; bank < state.dram_banks; ++bank)
    EXPECT_EQ(end_of(dram_column(state, bank)),
              used.device->card().dram_bank_bytes + used.device->card().dram_bank_base_bytes);
}

TEST_P(MemoryColumnOf, DataOfABufferAddUpToItsUsefulBytes) {
  const UsedDevice used(GetParam());
  const MemoryState state = memory_state(*used.device, used.circular_buffers);
  std::vector<std::int64_t> data(state.buffers.size()), taken(state.buffers.size());
  const auto count = [&](const MemoryColumn& column) {
    for (const MemorySegment& s : column) {
      if (s.kind != SegmentKind::data && s.kind != SegmentKind::no_data) continue;
      taken[static_cast<std::size_t>(s.index)] += s.bytes;
      if (s.kind == SegmentKind::data) data[static_cast<std::size_t>(s.index)] += s.bytes;
    }
  };
  for (int core = 0; core < state.cores.count(); ++core) count(core_column(state, core));
  for (int bank = 0; bank < state.dram_banks; ++bank) count(dram_column(state, bank));
  for (std::size_t i = 0; i < state.buffers.size(); ++i) {
    EXPECT_EQ(data[i], state.buffers[i].useful_bytes()) << state.buffers[i].label;
    EXPECT_EQ(taken[i], state.buffers[i].reserved_bytes) << state.buffers[i].label;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, MemoryColumnOf,
                         testing::Values("wormhole_n150", "wormhole_n300", "blackhole_p100", "blackhole_p150"));

TEST(MemoryColumn, CircularBuffersStandAboveTheReservedBytesOnTheirCoresOnly) {
  const UsedDevice used("wormhole_n150");
  const MemoryState state = memory_state(*used.device, used.circular_buffers);
  const MemoryColumn with_both = core_column(state, 1 * 8 + 3), with_one = core_column(state, 0);
  EXPECT_EQ(bytes_of(with_both, SegmentKind::circular_buffer), 14096);
  EXPECT_EQ(bytes_of(with_one, SegmentKind::circular_buffer), 4096);
  EXPECT_EQ(with_both[1], (MemorySegment{SegmentKind::circular_buffer, 105824, 4096, 0}));
  EXPECT_EQ(with_both[2], (MemorySegment{SegmentKind::circular_buffer, 105824 + 4096, 10000, 1}));
}

TEST(MemoryColumn, BanksInLockStepShowWhatTheyHoldNothingOf) {
  const UsedDevice used("wormhole_n150");
  const MemoryState state = memory_state(*used.device);
  // [64, 100] of uint16 in 32 shards of 2 rows: the cores from (0, 4) on hold none of it.
  const std::int64_t taken = 2 * round_up(200, 16);
  EXPECT_EQ(core_column(state, 31).back(),
            (MemorySegment{SegmentKind::no_data, 1499136 - taken + 400, taken - 400, 3}));
  const MemorySegment last = core_column(state, 32).back();
  EXPECT_EQ(last.kind, SegmentKind::no_data);
  EXPECT_EQ(last.bytes, round_up(taken, 32));
}

}  // namespace
}  // namespace tessera::tensix
