#include "tessera/targets/tensix/card/l1_timeline.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

std::shared_ptr<Device> card() { return Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 16384}); }

DeviceTensor tensor(const std::shared_ptr<Device>& device, const MemoryConfig& config) {
  return DeviceTensor::allocate(device, TensorSpec(Shape{1, 1, 2048, 64}, DType::bfloat16, Layout::tile, config));
}

TEST(L1Timeline, TellsWhatIsInL1WhileEachProgramRuns) {
  const auto device = card();
  L1Recorder recorder(device);
  recorder.begin_step("first", "copy");
  DeviceTensor a = tensor(device, kDramMemoryConfig);
  DeviceTensor b = to_memory_config(a, kL1MemoryConfig);
  recorder.name_buffer(b.address(), "b");
  recorder.begin_step("second", "copy");
  {
    const DeviceTensor c = clone(b);
    EXPECT_EQ(recorder.step_peak_bytes(), 2 * 4096 + 2 * 2048)
        << "64 x 2 tiles over 64 banks, twice, and two tiles on their way";
  }
  b.deallocate();
  recorder.begin_step("third", "copy");
  const DeviceTensor d = to_memory_config(a, kL1MemoryConfig);

  const L1Timeline& timeline = recorder.timeline();
  ASSERT_EQ(timeline.programs.size(), 3u);
  EXPECT_EQ(timeline.programs[0].l1_bytes, 4096);
  EXPECT_EQ(timeline.programs[1].l1_bytes, 8192);
  EXPECT_EQ(timeline.programs[2].l1_bytes, 4096);
  ASSERT_EQ(timeline.buffers.size(), 3u) << "DRAM is not L1";
  EXPECT_EQ(timeline.buffers[0].name, "b");
  EXPECT_EQ(timeline.buffers[0].first, 0u);
  EXPECT_EQ(timeline.buffers[0].end, 2u);
  EXPECT_FALSE(timeline.buffers[0].gone_in_its_step());
  EXPECT_TRUE(timeline.buffers[1].gone_in_its_step());
  EXPECT_EQ(timeline.buffers[2].end, L1Timeline::kStillThere);
  EXPECT_EQ(timeline.limit_bytes(), 1376928);
  EXPECT_EQ(timeline.steps[timeline.programs[1].step].name, "second");
}

TEST(L1Timeline, APeakIsKeptThoughWhatMadeItIsGone) {
  const auto device = card();
  L1Recorder recorder(device);
  recorder.begin_step("x", "y");
  DeviceTensor a = tensor(device, kL1MemoryConfig);  // 64 x 2 tiles over 64 banks
  EXPECT_EQ(recorder.step_peak_bytes(), 4096);
  {
    const DeviceTensor b = tensor(device, kL1MemoryConfig);
    EXPECT_EQ(recorder.step_peak_bytes(), 8192);
  }
  EXPECT_EQ(recorder.step_peak_bytes(), 8192);
  recorder.begin_step("next", "y");
  EXPECT_EQ(recorder.step_peak_bytes(), 4096);
}

TEST(L1Timeline, CircularBuffersBelongToTheProgramThatFollows) {
  const auto device = card();
  L1Recorder recorder(device);
  recorder.begin_step("x", "y");
  place_circular_buffers(*device, {{"in", CoreRange({0, 0}, {1, 0}), 1000}, {"out", CoreRange({1, 0}, {1, 0}), 64}}, 0);
  device->finish_program({ProgramKind::unary, "", {}, nullptr, "y"}, "y");
  device->finish_program({ProgramKind::unary, "", {}, nullptr, "z"}, "z");
  ASSERT_EQ(recorder.timeline().programs.size(), 2u);
  const std::int64_t most = recorder.timeline().programs[0].circular_buffer_bytes;
  EXPECT_GE(most, 1000 + 64) << "the fuller core";
  EXPECT_LE(most, 1000 + 64 + device->allocator().allocation_alignment_bytes());
  EXPECT_EQ(recorder.timeline().programs[1].circular_buffer_bytes, 0);
  EXPECT_EQ(recorder.step_circular_buffer_bytes(), most);
  EXPECT_EQ(recorder.step_peak_bytes(), most);
}

TEST(L1Timeline, WhatIsRefusedLeavesNothing) {
  const auto device = card();
  L1Recorder recorder(device);
  EXPECT_THROW(DeviceTensor::allocate(
                   device, TensorSpec(Shape{1, 1, 1 << 16, 1024}, DType::bfloat16, Layout::tile, kL1MemoryConfig)),
               Error);
  EXPECT_THROW(place_circular_buffers(*device, {{"in", CoreRange({0, 0}, {0, 0}), 2 << 20}}, 0), Error);
  EXPECT_TRUE(recorder.timeline().buffers.empty());
  EXPECT_EQ(recorder.step_peak_bytes(), 0);
}

}  // namespace
}  // namespace tessera::tensix
