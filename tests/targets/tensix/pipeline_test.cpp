#include "tessera/targets/tensix/time/pipeline.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

const TensixSpec& n150() {
  static const Machine machine = load_machine("wormhole_n150");
  return *machine.tensix;
}

using tessera::for_tests::error_of;

// A network as queues see it. Kernels take the published time of all of them together, spread evenly: what is tested
// here is all that comes on top of them.
struct Network {
  int calls, programs;
  double samples_per_s, batch;
  std::int64_t input_bytes, output_bytes;
};

PipelineWork work_of(const Network& n) {
  PipelineWork work;
  const double kernel_ns = n.batch / n.samples_per_s * 1e9 / n.programs;
  for (int i = 0; i < n.calls; ++i) {
    const int programs = n.programs / n.calls + (i < n.programs % n.calls ? 1 : 0);
    work.steps.push_back({.name = "op", .op = "op", .kernel_ns = kernel_ns * programs, .programs = programs});
  }
  work.input_bytes = n.input_bytes;
  work.output_bytes = n.output_bytes;
  work.input_move_ns = dram_move_ns(n150(), n.input_bytes);
  work.output_move_ns = dram_move_ns(n150(), n.output_bytes);
  return work;
}

// 53 convolutions (21 with a halo), 16 additions, a pool with a halo, 5 reshards, fold, tilize, average pool, linear.
const Network kResNet50{79, 101, 6335, 16, 16LL * 3 * 224 * 224 * 2, 16LL * 1000 * 2};
// 52 convolutions (18 with a halo), 10 additions, 8 reshards, pool, linear, a change of layout; input with 16 channels.
const Network kMobileNetV2{73, 91, 3730, 10, 10LL * 224 * 224 * 16 * 2, 10LL * 1000 * 2};
// 23 convolutions (22 with a halo), 4 pools and 4 upsamples with halos, 4 concats, 7 changes of layout.
const Network kUNet{42, 72, 1669, 4, 4LL * 4 * 1056 * 160 * 2, 4LL * 1056 * 160 * 2};

EndToEnd time_of(const Network& network, Executor executor, int batches, int chips = 1) {
  return run_pipeline(host_model(n150()), work_of(network), executor, batches, chips).time;
}

// Published end-to-end times (expected times of the tests in tt-metal, models/README); the runs have as many batches as
// those tests.
TEST(Pipeline, IsWithinAFifthOfPublishedTimesOfResNet50) {
  EXPECT_NEAR(time_of(kResNet50, Executor::model, 15).end_to_end_ns, 8.7e6, 0.2 * 8.7e6);
  EXPECT_NEAR(time_of(kResNet50, Executor::overlapped_input, 15).end_to_end_ns, 8.7e6, 0.2 * 8.7e6);
  EXPECT_NEAR(time_of(kResNet50, Executor::traced, 15).end_to_end_ns, 5.0e6, 0.2 * 5.0e6);
  EXPECT_NEAR(time_of(kResNet50, Executor::traced_overlapped_input, 15).end_to_end_ns, 3.4e6, 0.2 * 3.4e6);
}

TEST(Pipeline, IsWithinAFifthOfPublishedRatesOfOtherNetworks) {
  const double mobilenet = 10e9 / time_of(kMobileNetV2, Executor::traced_overlapped_input, 32).end_to_end_ns;
  EXPECT_NEAR(mobilenet, 3030, 0.2 * 3030);
  const double unet = 4e9 / time_of(kUNet, Executor::traced_pipelined_io, 256).end_to_end_ns;
  EXPECT_NEAR(unet, 1395, 0.2 * 1395);
  const double two_chips = 32e9 / run_pipeline(host_model(*load_machine("wormhole_n300").tensix), work_of(kResNet50),
                                               Executor::traced_overlapped_input, 15, 2)
                                      .time.end_to_end_ns;
  EXPECT_NEAR(two_chips, 9200, 0.2 * 9200);
}

TEST(Pipeline, PartsAddUpToTheWholeForEveryExecutor) {
  for (const Executor executor : {Executor::model, Executor::traced, Executor::overlapped_input,
                                  Executor::traced_overlapped_input, Executor::traced_pipelined_io}) {
    const EndToEnd t = time_of(kResNet50, executor, 5);
    EXPECT_NEAR(t.kernels_ns + t.dispatch_ns + t.launch_ns + t.transfers_ns + t.host_ns, t.end_to_end_ns, 1)
        << name(executor);
    EXPECT_NEAR(t.device_ns, 16e9 / 6335, 1);
    EXPECT_GT(t.end_to_end_ns, t.device_ns);
    EXPECT_GT(t.latency_ns, t.device_ns);
  }
}

TEST(Pipeline, OverlapHidesTheWriteOfTheNextInput) {
  const double one = time_of(kResNet50, Executor::traced, 50).end_to_end_ns;
  const double two = time_of(kResNet50, Executor::traced_overlapped_input, 50).end_to_end_ns;
  const double write = host_model(n150()).write_ns(kResNet50.input_bytes);
  EXPECT_NEAR(one - two, write, 0.1 * write);
}

TEST(Pipeline, SeparateTransfersHideALargeOutputToo) {
  Network large = kUNet;
  large.output_bytes = large.input_bytes;
  const double overlapped = time_of(large, Executor::traced_overlapped_input, 50).end_to_end_ns;
  const double pipelined = time_of(large, Executor::traced_pipelined_io, 50).end_to_end_ns;
  EXPECT_GT(overlapped - pipelined, 0.5 * host_model(n150()).read_ns(large.output_bytes));
}

// Then neither the network nor its input counts: an output is read, and only then overwritten by the next one.
TEST(Pipeline, AnOutputIsOverwrittenOnlyWhenItHasBeenRead) {
  Network writer = kUNet;
  writer.samples_per_s *= 1e6;
  writer.input_bytes = 64;
  writer.output_bytes = 256 << 20;
  const double move = dram_move_ns(n150(), writer.output_bytes), read = host_model(n150()).read_ns(writer.output_bytes);
  constexpr int kBatches = 300;
  // The first of them has nothing to wait for.
  EXPECT_GE(kBatches * time_of(writer, Executor::traced_pipelined_io, kBatches).end_to_end_ns,
            (kBatches - 1) * (move + read));
}

TEST(Pipeline, AnInputThatTakesLongerThanTheNetworkBoundsIt) {
  Network fed = kResNet50;
  fed.input_bytes *= 10;
  const EndToEnd t = time_of(fed, Executor::traced_overlapped_input, 20);
  EXPECT_GT(t.transfers_ns, 0.9 * t.end_to_end_ns);
}

TEST(Pipeline, ChipsWithLinksOfTheirOwnDoNotSlowEachOther) {
  EXPECT_EQ(time_of(kResNet50, Executor::traced_overlapped_input, 10, 1).end_to_end_ns,
            time_of(kResNet50, Executor::traced_overlapped_input, 10, 4).end_to_end_ns);
}

TEST(Pipeline, PipelinedTransfersNeedTwoInputs) {
  EXPECT_NE(error_of([] { time_of(kResNet50, Executor::traced_pipelined_io, 1); }).find("two inputs or more, not 1"),
            std::string::npos);
}

TEST(Pipeline, ChoosesTheExecutorThatTheConfigAsksFor) {
  EXPECT_EQ(executor_of({.use_trace = false}), Executor::model);
  EXPECT_EQ(executor_of({}), Executor::traced);
  EXPECT_EQ(executor_of({.use_trace = false, .num_command_queues = 2}), Executor::overlapped_input);
  EXPECT_EQ(executor_of({.num_command_queues = 2}), Executor::traced_overlapped_input);
  EXPECT_EQ(executor_of({.num_command_queues = 2, .all_transfers_on_separate_command_queue = true}),
            Executor::traced_pipelined_io);
  EXPECT_NE(error_of([] { executor_of({.all_transfers_on_separate_command_queue = true}); }).find("two command queues"),
            std::string::npos);
  EXPECT_NE(error_of([] { executor_of({.num_command_queues = 3}); }).find("num_command_queues is 3"),
            std::string::npos);
}

TEST(CommandQueues, AnEventMakesOneQueueWaitForAnother) {
  CommandQueues q(host_model(n150()), 2);
  q.write(1, 1 << 20, "input");
  const EventId written = q.record_event(1);
  q.wait_for_event(0, written);
  q.run(0, {.name = "op", .op = "op", .kernel_ns = 1000});
  q.synchronize();
  const sim::Schedule s = q.finish();
  EXPECT_GT(s.end_ns(), host_model(n150()).write_ns(1 << 20) + 1000);
  EXPECT_EQ(q.host_ns(), s.end_ns());
}

TEST(CommandQueues, ABlockingReadHoldsUpTheHost) {
  const HostModel host = host_model(n150());
  CommandQueues q(host, 1);
  q.read(0, 1 << 20, "output", Blocking::yes);
  EXPECT_GE(q.host_ns(), host.read_ns(1 << 20));
  CommandQueues other(host, 1);
  other.read(0, 1 << 20, "output");
  EXPECT_LT(other.host_ns(), host.read_ns(1 << 20));
}

TEST(CommandQueues, NameTheEventThatNobodyRecords) {
  CommandQueues q(host_model(n150()), 2);
  q.wait_for_event(1, q.new_event());
  EXPECT_NE(error_of([&] { q.finish(); }).find("queue 1 waits for event 0, which was never recorded"),
            std::string::npos);
  EXPECT_NE(error_of([&] { q.wait_for_event(0, EventId::none); }).find("the event was never recorded"),
            std::string::npos);
}

TEST(CommandQueues, NameQueuesThatWaitForEachOther) {
  CommandQueues q(host_model(n150()), 2);
  const EventId a = q.new_event(), b = q.new_event();
  q.wait_for_event(0, a);
  q.record_event(0, b);
  q.wait_for_event(1, b);
  q.record_event(1, a);
  const std::string message = error_of([&] { q.finish(); });
  EXPECT_NE(message.find("deadlock"), std::string::npos) << message;
  EXPECT_NE(message.find("queue 0 waits for event 0"), std::string::npos) << message;
  EXPECT_NE(message.find("queue 1 waits for event 1"), std::string::npos) << message;
}

TEST(CommandQueues, RefuseAQueueThatIsNotThere) {
  CommandQueues q(host_model(n150()), 1);
  EXPECT_NE(error_of([&] { q.write(1, 10, "x"); }).find("no command queue 1"), std::string::npos);
  EXPECT_NE(error_of([] { CommandQueues(host_model(n150()), 3); }).find("3 command queues"), std::string::npos);
}

TEST(HostModel, PricesKernelGroupsBetweenThePublishedPoints) {
  const HostModel host = host_model(n150());
  EXPECT_DOUBLE_EQ(host.program_ns(1, true), 1570);
  EXPECT_DOUBLE_EQ(host.program_ns(8, true), 5300);
  EXPECT_GT(host.program_ns(1, false), host.program_ns(1, true));
}

TEST(HostModel, SaysWhichFigureAMachineLacks) {
  TensixSpec card = n150();
  card.host_call_ns.reset();
  EXPECT_NE(error_of([&] { host_model(card); }).find("no 'host_call_ns'"), std::string::npos);
}

}  // namespace
}  // namespace tessera::tensix
