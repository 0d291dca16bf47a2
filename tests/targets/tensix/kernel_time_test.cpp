#include "tessera/targets/tensix/time/kernel_time.h"

#include "card.h"

#include "tessera/graph/zoo/zoo.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_trial.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/fold/fold.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"
#include "tessera/targets/tensix/ops/pool/pool.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/tilize/tilize.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"
#include "tessera/targets/tensix/time/device_queues.h"
#include "tests/targets/tensix/relu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kL1Small = 16384;

std::shared_ptr<Device> null_card(const std::string& machine = "wormhole_n150") {
  return Device::open(load_machine(machine), {.l1_small_bytes = kL1Small, .values = false});
}

DeviceTensor put(const std::shared_ptr<Device>& device, const Shape& shape, Layout layout = Layout::tile,
                 const MemoryConfig& memory = kDramMemoryConfig, DType dtype = DType::bfloat16) {
  return DeviceTensor::allocate(device, TensorSpec(shape, dtype, layout, memory));
}

Conv2dProblem conv(std::int64_t size, std::int64_t channels, std::int64_t kernel) {
  Conv2dProblem p;
  p.batch = 2, p.height = p.width = size, p.in_channels = channels, p.out_channels = channels;
  p.window.kernel_h = p.window.kernel_w = kernel;
  p.window.top = p.window.bottom = p.window.left = p.window.right = kernel / 2;
  p.has_bias = true;
  p.weights_dtype = DType::bfloat8_b;
  p.input_memory = kDramMemoryConfig;
  return p;
}

// What the trial of a configuration says it takes.
double predicted_ns(const Conv2dTrial& trial, const Machine& machine) {
  const std::optional<TensixCosts> costs = costs_of(machine);
  double ns = 0;
  for (const auto& work : trial.programs)
    ns += time_of(TraceRecord{work->kind, "", {}, work}, tensix_of(machine), costs).ns;
  return ns;
}

// And what the same call takes when it is run.
double run_ns(const Conv2dProblem& p, const std::string& machine) {
  const std::shared_ptr<Device> device = null_card(machine);
  const auto queues = DeviceQueues::of(device);
  const DeviceTensor x =
      put(device, {1, 1, p.batch * p.height * p.width, p.in_channels}, p.input_layout, p.input_memory, p.input_dtype);
  const Tensor weights({p.out_channels, p.in_channels / p.groups, p.window.kernel_h, p.window.kernel_w},
                       DType::bfloat16, Layout::row_major);
  const Tensor bias({1, 1, 1, p.out_channels}, DType::bfloat16, Layout::row_major);
  Conv2dProblem asked = p;
  asked.config.weights_dtype = p.weights_dtype;
  conv2d(x, weights, Conv2dOperand(bias), asked);
  return queues->device_ns();
}

TEST(KernelTime, AConvolutionTakesAsLongAsItsTrialPredicts) {
  for (const char* machine : {"wormhole_n150", "blackhole_p150"})
    for (const std::int64_t kernel : {1, 3})
      for (const TensorMemoryLayout layout : {TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded})
        for (const Layout input : {Layout::row_major, Layout::tile}) {
          Conv2dProblem p = conv(32, 64, kernel);
          p.input_layout = input;
          p.config.shard_layout = layout;
          const Conv2dTrial trial = try_conv2d(p, load_machine(machine), kL1Small);
          ASSERT_TRUE(trial.fits()) << trial.refusal->message;
          const double ns = predicted_ns(trial, load_machine(machine));
          EXPECT_GT(ns, 2000) << machine << " " << kernel;
          EXPECT_DOUBLE_EQ(run_ns(p, machine), ns) << machine << " " << kernel << " " << name(layout);
        }
}

TEST(KernelTime, SlicesOfAConvolutionAreAllPriced) {
  const std::shared_ptr<Device> device = null_card();
  const auto queues = DeviceQueues::of(device);
  const Conv2dProblem p = conv(64, 64, 3);
  const DeviceTensor x = put(device, {1, 1, p.batch * p.height * p.width, p.in_channels}, Layout::row_major);
  const Tensor weights({64, 64, 3, 3}, DType::bfloat16, Layout::row_major);
  Conv2dOptions options;
  options.slice = Conv2dSliceConfig{Conv2dSliceType::dram_height, 4};
  Conv2dProblem asked = p;
  asked.has_bias = false;
  conv2d(x, weights, std::nullopt, asked, options);
  std::multiset<std::string> kinds;
  double ns = 0;
  for (const TraceRecord& record : device->trace()) {
    if (!is_program(record)) continue;
    ASSERT_TRUE(record.work) << record.op();
    kinds.insert(std::string(name(record.work->kind)));
    ns += time_of(record, device->card(), costs_of(device->machine())).ns;
  }
  for (const char* kind : {"padded_slice", "halo", "conv2d", "slice_write"}) EXPECT_EQ(kinds.count(kind), 4u) << kind;
  EXPECT_NEAR(queues->device_ns(), ns, 1e-9 * ns);
}

TEST(KernelTime, ANetworkTakesAsLongAsItsStepsSay) {
  const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 32768, .values = false});
  const auto queues = DeviceQueues::of(device);
  const Graph graph = make_zoo_model("resnet18");
  std::vector<Array> inputs;
  for (const ValueId id : graph.inputs) inputs.emplace_back(ElementType::float32, graph.value(id).type.shape());
  const Simulation run = simulate(device, lower(graph), inputs);
  double ns = 0;
  for (const SimulatedStep& step : run.steps) ns += step.time.ns;
  EXPECT_GT(ns, 1e5);
  EXPECT_NEAR(queues->device_ns(), ns, 1e-9 * ns);
}

TEST(KernelTime, EveryOperatorSaysWhatItDoes) {
  const std::shared_ptr<Device> device = null_card("blackhole_p150");
  const std::optional<TensixCosts> costs = costs_of(device->machine());
  const DeviceTensor x = put(device, {1, 1, 1024, 256}), w = put(device, {1, 1, 256, 512});
  const DeviceTensor image = put(device, {1, 16, 16, 64}, Layout::row_major);
  const MemoryConfig shards = height_shards(8, 128, 256);
  const DeviceTensor y = matmul(x, w);
  const DeviceTensor sharded = to_memory_config(x, shards);
  relu(binary(Binary::Kind::add, x, x));
  binary(Binary::Kind::mul, x, 2.0);
  softmax(y);
  typecast(x, DType::bfloat8_b);
  tilize(untilize(x));
  to_memory_config(sharded, kDramMemoryConfig);
  to_memory_config(sharded, height_shards(4, 256, 256));
  concat(std::vector<DeviceTensor>{x, x}, 3);
  UpsampleOptions twice;
  twice.scale = {2, 2};
  upsample(image, twice);
  FoldOptions two;
  two.stride_h = two.stride_w = 2;
  fold(image, two);
  global_avg_pool2d(image);
  PoolOptions pool{.batch = 1, .height = 16, .width = 16, .channels = 64, .window = {2, 2, 2, 2}};
  DeviceTensor rows = reshape(image, {1, 1, 256, 64});
  pool2d(PoolKind::max, rows, pool);
  std::set<std::string> ops;
  for (const TraceRecord& record : device->trace()) {
    if (!is_program(record)) continue;
    ops.insert(std::string(record.op()));
    const StepTime t = time_of(record, device->card(), costs);
    EXPECT_NE(t.basis, TimeBasis::bound) << record.op();
    EXPECT_GE(t.ns, costs->launch_cycles / device->card().clock_hz * 1e9) << record.op();
    EXPECT_LT(t.ns, 1e7) << record.op();
    const std::optional<ProgramWork> work = work_of(record, device->card());
    ASSERT_TRUE(work) << record.op();
    EXPECT_TRUE(work->counted()) << record.op();
  }
  EXPECT_GE(ops.size(), 14u);
}

TEST(KernelTime, ALowerBoundIsOfTheBusiestBankOrOfAllCoresTogether) {
  const TensixSpec card = tensix_of(load_machine("wormhole_n150"));
  const double noc = card.noc_link_achieved_bytes_per_cycle * card.clock_hz;
  const std::int64_t bytes = 1000 * card.cores();
  const auto bound = [&](MemoryKind from, std::int64_t busiest) {
    return lower_bound_ns(card, TraceRecord{ProgramKind::softmax, "", {{from, MemoryKind::l1, bytes, 1, 0, busiest}}});
  };
  EXPECT_DOUBLE_EQ(bound(MemoryKind::l1, 10), 1000 / noc * 1e9);
  EXPECT_DOUBLE_EQ(bound(MemoryKind::l1, 5000), 5000 / noc * 1e9);
  EXPECT_DOUBLE_EQ(
      bound(MemoryKind::dram, 5000),
      static_cast<double>(bytes) / card.dram_achieved_bytes_per_s.value_or(card.dram_model_bytes_per_s) * 1e9);
}

TEST(KernelTime, WhatIsNotSaidIsALowerBoundAndMarked) {
  const Machine machine = load_machine("wormhole_n150");
  const TensixSpec& card = tensix_of(machine);
  const TraceRecord record{ProgramKind::softmax, "", {{MemoryKind::dram, MemoryKind::l1, 1 << 20, 512, 0, 1 << 14}}};
  const StepTime t = time_of(record, card, costs_of(machine));
  EXPECT_EQ(t.basis, TimeBasis::bound);
  EXPECT_EQ(name(t.basis), "bound");
  EXPECT_FALSE(t.fitted());
  EXPECT_DOUBLE_EQ(t.ns, lower_bound_ns(card, record));
  // Without prices nothing else can be said either.
  const std::shared_ptr<Device> device = null_card();
  relu(put(device, {1, 1, 1024, 256}));
  EXPECT_EQ(time_of(device->trace().back(), card, std::nullopt).basis, TimeBasis::bound);
  EXPECT_LT(time_of(device->trace().back(), card, std::nullopt).ns,
            time_of(device->trace().back(), card, costs_of(machine)).ns);
}

}  // namespace
}  // namespace tessera::tensix
