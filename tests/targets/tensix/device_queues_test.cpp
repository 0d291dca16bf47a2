#include "tessera/targets/tensix/time/device_queues.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tests/error_of.h"
#include "tests/targets/tensix/relu.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

using tessera::for_tests::error_of;

std::shared_ptr<Device> open(const DeviceOptions& options = {}) {
  return Device::open(load_machine("wormhole_n150"), options);
}

Tensor values(float first) {
  std::vector<float> v(64 * 64);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = first - static_cast<float>(i % 7);
  return Tensor::from_float32(v, Shape{1, 1, 64, 64}, DType::bfloat16, Layout::tile);
}

struct Traced {
  std::shared_ptr<Device> device;
  std::shared_ptr<DeviceQueues> queues;
  DeviceTensor input;
  std::optional<DeviceTensor> output;
  TraceId id;
};

// relu of relu, captured after a first run.
Traced capture(const DeviceOptions& options = {}) {
  const std::shared_ptr<Device> device = open(options);
  Traced t{device, DeviceQueues::of(device), to_device(values(2), device), std::nullopt, {}};
  relu(relu(t.input));
  t.id = t.queues->begin_trace_capture(0);
  t.queues->note_input(t.input);
  t.output = relu(relu(t.input));
  t.queues->end_trace_capture(t.id, 0);
  return t;
}

TEST(DeviceQueues, AReplayComputesAgainIntoTheSameMemory) {
  Traced t = capture();
  copy_host_to_device(values(5), t.input);
  t.queues->execute_trace(t.id, 0, Blocking::no, [&] {
    const DeviceTensor input = DeviceTensor::borrow(t.device, t.input.spec(), t.input.buffer()->allocation());
    const DeviceTensor output = relu(relu(input));
    EXPECT_EQ(output.address(), t.output->address());
  });
  EXPECT_EQ(from_device(*t.output).to_float32()[0], 5);
  EXPECT_EQ(from_device(*t.output).to_float32()[6], 0);
  EXPECT_EQ(t.queues->trace(t.id).steps.size(), 2U);
}

TEST(DeviceQueues, AReplayLeavesMemoryAsItWas) {
  Traced t = capture();
  const std::int64_t before = t.device->memory_view(BufferType::dram).allocated_bytes_per_bank;
  EXPECT_NE(error_of([&] {
              t.queues->execute_trace(t.id, 0, Blocking::no, [&] {
                const DeviceTensor input =
                    DeviceTensor::borrow(t.device, t.input.spec(), t.input.buffer()->allocation());
                relu(input);
                fail(Code::internal, "stop");
              });
            }).find("stop"),
            std::string::npos);
  EXPECT_EQ(t.device->memory_view(BufferType::dram).allocated_bytes_per_bank, before);
  EXPECT_FALSE(t.device->is_replaying());
}

TEST(DeviceQueues, ReplaysTakeLessTimeOfTheHostThanCalls) {
  Traced t = capture();
  t.queues->synchronize();
  const double start = t.queues->simulated_ns();
  t.queues->execute_trace(t.id, 0, Blocking::yes);
  const double replayed = t.queues->simulated_ns() - start;
  relu(relu(t.input));
  t.queues->synchronize();
  EXPECT_LT(replayed, t.queues->simulated_ns() - start - replayed);
}

TEST(DeviceQueues, ATraceNeedsAWarmProgramCache) {
  const std::shared_ptr<Device> device = open();
  const auto queues = DeviceQueues::of(device);
  const DeviceTensor x = to_device(values(1), device);
  const TraceId id = queues->begin_trace_capture(0);
  const std::string message = error_of([&] { relu(x); });
  EXPECT_NE(message.find("during the capture of trace 0: its program is not in the cache"), std::string::npos)
      << message;
  EXPECT_NE(message.find("run the model once before begin_trace_capture"), std::string::npos) << message;
  queues->end_trace_capture(id, 0);
}

TEST(DeviceQueues, ATraceHoldsNoTransfersAndNoEvents) {
  const std::shared_ptr<Device> device = open({.command_queues = 2});
  const auto queues = DeviceQueues::of(device);
  DeviceTensor x = to_device(values(1), device);
  const std::int64_t taken = device->memory_view(BufferType::dram).allocated_bytes_per_bank;
  const TraceId id = queues->begin_trace_capture(0);
  EXPECT_NE(error_of([&] { to_device(values(1), device); }).find("to_device during the capture of trace 0 in queue 0"),
            std::string::npos);
  EXPECT_EQ(device->memory_view(BufferType::dram).allocated_bytes_per_bank, taken);
  EXPECT_NE(error_of([&] { from_device(x); }).find("no reads or writes"), std::string::npos);
  EXPECT_NE(error_of([&] { copy_host_to_device(values(1), x); }).find("no reads or writes"), std::string::npos);
  EXPECT_NE(error_of([&] { queues->record_event(0); }).find("record_event during the capture"), std::string::npos);
  EXPECT_NE(error_of([&] { queues->synchronize(); }).find("synchronize_device during the capture"), std::string::npos);
  EXPECT_NE(error_of([&] { queues->begin_trace_capture(1); }).find("trace 0 is being captured in queue 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { queues->execute_trace(id, 0, Blocking::no); }).find("during the capture"),
            std::string::npos);
  EXPECT_NE(error_of([&] { queues->end_trace_capture(id, 1); }).find("not being captured in queue 1"),
            std::string::npos);
  queues->end_trace_capture(id, 0);
}

TEST(DeviceQueues, ARegionTooSmallForATraceSaysHowMuchItTakes) {
  const std::string message = error_of([] { capture({.trace_region_bytes = 4096}); });
  EXPECT_NE(message.find("but trace_region_size is 4096 B; the capture is dropped"), std::string::npos) << message;
  EXPECT_NE(message.find("open the device with trace_region_size="), std::string::npos) << message;
}

TEST(DeviceQueues, WithoutARegionATraceTakesDram) {
  Traced t = capture();
  const std::int64_t with = t.device->memory_view(BufferType::dram).allocated_bytes_per_bank;
  t.queues->release_trace(t.id);
  EXPECT_LT(t.device->memory_view(BufferType::dram).allocated_bytes_per_bank, with);
  EXPECT_NE(error_of([&] { t.queues->execute_trace(t.id, 0, Blocking::no); }).find("there is no trace 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { t.queues->release_trace(t.id); }).find("there is no trace 0"), std::string::npos);
}

TEST(DeviceQueues, ATraceWhoseInputIsGoneDoesNotRun) {
  Traced t = capture({.trace_region_bytes = 1 << 20});
  t.input.deallocate();
  EXPECT_NE(error_of([&] { t.queues->execute_trace(t.id, 0, Blocking::no); }).find("where its input no longer is"),
            std::string::npos);
  const DeviceTensor back = to_device(values(1), t.device);  // first fit: the same place
  ASSERT_EQ(back.address(), t.input.address());
  t.queues->execute_trace(t.id, 0, Blocking::no);
}

TEST(DeviceQueues, ATraceDoesNotOverwriteWhatWasAllocatedSince) {
  Traced t = capture({.trace_region_bytes = 1 << 20});
  const DeviceTensor squatter = to_device(values(1), t.device);  // where the first relu went
  const std::string message = error_of([&] { t.queues->execute_trace(t.id, 0, Blocking::no); });
  EXPECT_NE(message.find("has been allocated since"), std::string::npos) << message;
}

TEST(DeviceQueues, EventsOfAnEpochThatIsOverHaveComeToPass) {
  const std::shared_ptr<Device> device = open({.command_queues = 2});
  const auto queues = DeviceQueues::of(device);
  const QueuedEvent event = queues->record_event(0);
  queues->synchronize();
  queues->wait_for_event(1, event);
  queues->synchronize();
  EXPECT_NE(error_of([&] { queues->wait_for_event(1, {}); }).find("never recorded"), std::string::npos);
  EXPECT_NE(error_of([&] { queues->record_event(2); }).find("no command queue 2"), std::string::npos);
}

TEST(DeviceQueues, TimePassesOnlyForwards) {
  const std::shared_ptr<Device> device = open();
  const auto queues = DeviceQueues::of(device);
  EXPECT_EQ(queues->simulated_ns(), 0);
  const DeviceTensor x = to_device(values(1), device);
  const double written = queues->simulated_ns();
  EXPECT_GT(written, 0);
  from_device(relu(x));
  EXPECT_GT(queues->simulated_ns(), written);
  EXPECT_GT(queues->device_ns(), 0);
  EXPECT_EQ(DeviceQueues::of(device), queues);
}

}  // namespace
}  // namespace tessera::tensix
