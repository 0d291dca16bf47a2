#include "tessera/targets/tensix/network/simulate.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::tensix {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<Device> card(std::int64_t worker_l1_bytes = 0, bool values = true) {
  return Device::open(load_machine("wormhole_n150"),
                      {.l1_small_bytes = 32768, .worker_l1_bytes = worker_l1_bytes, .values = values});
}
std::shared_ptr<Device> null_card(std::int64_t worker_l1_bytes = 0) { return card(worker_l1_bytes, false); }

class NetBuilder {
 public:
  explicit NetBuilder(const Shape& input) { x = graph.add_input("x", {ElementType::float32, input}); }

  ValueId constant(const Shape& shape, float scale = 1) {
    Array array(ElementType::float32, shape);
    std::normal_distribution<float> normal(0, scale);
    for (float& v : array.as<float>()) v = normal(random_);
    return graph.add_constant("c" + std::to_string(count_++), std::move(array));
  }
  ValueId integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant("i" + std::to_string(count_++),
                              Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    return graph.add("n" + std::to_string(count_++), std::move(op), std::move(inputs));
  }
  ValueId conv(ValueId from, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    const std::int64_t in = graph.value(from).type.shape()[1] / groups;
    Conv op;
    op.groups = groups;
    op.window.strides = {stride, stride};
    op.window.pads = std::vector<std::int64_t>(4, kernel / 2);
    const auto fan_in = static_cast<float>(in * kernel * kernel);
    return add(op, {from, constant(Shape{out, in, kernel, kernel}, 1 / std::sqrt(fan_in)), constant(Shape{out}, 0.1f)});
  }
  Graph done(ValueId y) {
    graph.outputs = {y};
    return graph;
  }

  Graph graph;
  ValueId x;

 private:
  std::mt19937 random_{7};
  int count_ = 0;
};

std::vector<Array> random_inputs(const Graph& graph) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<Array> inputs;
  for (const ValueId id : graph.inputs) {
    inputs.emplace_back(ElementType::float32, graph.value(id).type.shape());
    for (float& v : inputs.back().as<float>()) v = normal(random);
  }
  return inputs;
}

// Each step rounds operands and result to so many bits; an error is a few of those, relative to the largest value.
double tolerance(DType dtype, double steps, double magnitude) {
  const int bits = dtype == DType::float32 ? 10 : dtype == DType::bfloat16 ? 8 : 6;
  return 3 * (1 + steps) * std::ldexp(magnitude, -bits);
}

struct Ran {
  Simulation simulation;
  std::vector<std::string> ops;
};

Ran expect_agrees(const Graph& graph, DType dtype = DType::bfloat16, bool fallback = false) {
  const std::vector<Array> inputs = random_inputs(graph);
  SimulateOptions options;
  options.dtype = dtype;
  options.weights_dtype = dtype;
  options.compute.fp32_dest_acc_en = true;
  const LoweredGraph network = lower(graph, {.host_fallback = fallback});
  Ran ran{simulate(card(), network, inputs, options), {}};
  for (const LoweredNode& node : network.nodes) ran.ops.push_back(node.op);
  const Array expected = evaluate(graph, inputs)[0];
  const Array& found = ran.simulation.outputs.at(0);
  EXPECT_EQ(found.shape(), expected.shape());
  double magnitude = 0, error = 0;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    magnitude = std::max(magnitude, std::abs(double{expected.as<float>()[at]}));
    error = std::max(error, std::abs(double{expected.as<float>()[at]} - found.as<float>()[at]));
  }
  EXPECT_GT(magnitude, 0);
  EXPECT_LE(error, tolerance(dtype, static_cast<double>(network.nodes.size()), magnitude));
  return ran;
}

// At every program tensors lie apart from each other and above its circular buffers.
void expect_sound(const L1Timeline& timeline) {
  for (std::size_t p = 0; p < timeline.programs.size(); ++p) {
    std::vector<std::pair<std::int64_t, std::int64_t>> there;
    for (const L1Timeline::Buffer& b : timeline.buffers)
      if (b.first <= p && p < b.end && b.bytes > 0) there.emplace_back(b.address, b.address + b.bytes);
    std::sort(there.begin(), there.end());
    for (std::size_t i = 1; i < there.size(); ++i) ASSERT_LE(there[i - 1].second, there[i].first) << "at program " << p;
    if (there.empty()) continue;
    ASSERT_LE(timeline.base_address + timeline.programs[p].circular_buffer_bytes, there[0].first)
        << "at program " << p << " (" << timeline.programs[p].op << ")";
  }
}

TEST(Simulate, ConvolutionsTakeTheirActivationWithThem) {
  NetBuilder b(Shape{1, 3, 20, 24});
  ValueId y = b.add(Unary{Unary::Kind::relu}, {b.conv(b.x, 32, 3)});
  y = b.add(Unary{Unary::Kind::silu}, {b.conv(y, 40, 3, 2)});
  y = b.conv(y, 64, 1);
  y = b.conv(y, 64, 3, 1, 64);
  y = b.conv(y, 32, 3, 1, 4);
  const Ran ran = expect_agrees(b.done(y));
  EXPECT_EQ(ran.ops, std::vector<std::string>(5, "conv2d"));
  EXPECT_EQ(ran.simulation.steps.size(), 5u);
  expect_sound(ran.simulation.timeline);
}

TEST(Simulate, BlockFloatsAndFloat32Run) {
  for (const DType dtype : {DType::bfloat8_b, DType::float32}) {
    NetBuilder b(Shape{2, 16, 10, 10});
    const ValueId y = b.add(Unary{Unary::Kind::relu}, {b.conv(b.x, 32, 3)});
    expect_agrees(b.done(b.conv(y, 32, 3)), dtype);
  }
}

TEST(Simulate, TransposedConvolutions) {
  NetBuilder b(Shape{1, 32, 8, 8});
  ConvTranspose op;
  op.window.strides = {2, 2};
  expect_agrees(b.done(b.add(op, {b.x, b.constant(Shape{32, 32, 2, 2}, 0.1f), b.constant(Shape{32})})));
}

TEST(Simulate, Pools) {
  NetBuilder b(Shape{1, 32, 17, 17});
  MaxPool most;
  most.window.kernel = {3, 3};
  most.window.strides = {2, 2};
  most.window.pads = {1, 1, 1, 1};
  const ValueId y = b.add(most, {b.conv(b.x, 32, 3)});
  AveragePool mean;
  mean.window.kernel = {2, 2};
  mean.window.strides = {1, 1};
  const Ran ran = expect_agrees(b.done(b.add(GlobalPool{}, {b.add(mean, {y})})));
  EXPECT_EQ(ran.ops, (std::vector<std::string>{"conv2d", "max_pool2d", "avg_pool2d", "avg_pool2d"}));
}

TEST(Simulate, FlattenedImagesMeetTheRightWeights) {
  NetBuilder b(Shape{2, 32, 3, 5});
  ValueId y = b.add(Flatten{}, {b.conv(b.x, 32, 3)});
  y = b.add(Unary{Unary::Kind::relu}, {y});
  y = b.add(Gemm{.transpose_b = true}, {y, b.constant(Shape{40, 32 * 15}, 0.05f), b.constant(Shape{40})});
  y = b.add(Gemm{}, {y, b.constant(Shape{40, 24}, 0.2f)});
  expect_agrees(b.done(b.add(Softmax{.axis = 1}, {y})));
}

TEST(Simulate, ElementwiseArithmetic) {
  NetBuilder b(Shape{1, 32, 12, 12});
  const ValueId a = b.conv(b.x, 64, 3), c = b.conv(b.x, 64, 1);
  ValueId y = b.add(Unary{Unary::Kind::relu}, {b.add(Binary{Binary::Kind::add}, {a, c})});
  y = b.add(Binary{Binary::Kind::mul}, {y, a});
  y = b.add(Binary{Binary::Kind::sub}, {y, b.constant(Shape{})});
  y = b.add(Binary{Binary::Kind::max}, {y, b.constant(Shape{64, 1, 1})});
  const Ran ran = expect_agrees(b.done(y));
  EXPECT_EQ(ran.ops, (std::vector<std::string>{"conv2d", "conv2d", "add", "multiply", "subtract", "maximum"}));
}

TEST(Simulate, ChannelsAreScaledBySqueezeAndExcite) {
  NetBuilder b(Shape{1, 32, 9, 9});
  ValueId s = b.add(GlobalPool{}, {b.x});
  s = b.add(Unary{Unary::Kind::sigmoid}, {b.conv(s, 32, 1)});
  expect_agrees(b.done(b.add(Binary{Binary::Kind::mul}, {b.conv(b.x, 32, 3), s})));
}

TEST(Simulate, Functions) {
  using Kind = Unary::Kind;
  for (const Unary f : {Unary{Kind::leaky_relu, 0.2f}, Unary{Kind::tanh}, Unary{Kind::hard_swish}, Unary{Kind::gelu},
                        Unary{Kind::softplus}, Unary{Kind::abs}, Unary{Kind::elu, 1}}) {
    NetBuilder b(Shape{1, 32, 8, 8});
    expect_agrees(b.done(b.add(f, {b.x})));
  }
}

TEST(Simulate, ChannelsAreCutAndJoined) {
  for (const std::int64_t channels : {64, 48}) {  // whole tiles, and not
    NetBuilder b(Shape{1, 32, 10, 10});
    const ValueId y = b.conv(b.x, channels, 3);
    const auto halves = b.graph.add_node("split", Split{.axis = 1, .sizes = {}, .outputs = 2}, {y}, 2);
    const ValueId z = b.conv(halves[1], channels, 3);
    const ValueId cut = b.add(Slice{}, {z, b.integers({8}), b.integers({24}), b.integers({1})});
    expect_agrees(b.done(b.add(Concat{1}, {halves[0], cut, z})));
  }
}

TEST(Simulate, ImagesGrow) {
  for (const Resize::Mode mode : {Resize::Mode::nearest, Resize::Mode::linear}) {
    NetBuilder b(Shape{1, 32, 6, 10});
    Resize op;
    op.mode = mode;
    if (mode == Resize::Mode::nearest) {
      op.coordinates = Resize::Coordinates::asymmetric;
      op.nearest = Resize::Nearest::floor;
    }
    const ValueId scales = b.graph.add_constant("scales", Array::of<float>(Shape{4}, std::vector<float>{1, 1, 2, 2}));
    const ValueId up = b.add(op, {b.conv(b.x, 32, 3), kNoValue, scales});
    expect_agrees(b.done(b.conv(up, 32, 3)));
  }
}

TEST(Simulate, RowsOfDetectorHeadsAreJoined) {
  NetBuilder b(Shape{1, 32, 8, 8});
  const ValueId a = b.conv(b.x, 40, 1), c = b.conv(b.x, 40, 3, 2);
  const ValueId ra = b.add(Reshape{}, {a, b.integers({1, 40, -1})}),
                rc = b.add(Reshape{}, {c, b.integers({1, 40, -1})});
  expect_agrees(b.done(b.add(Concat{2}, {ra, rc})));
}

TEST(Simulate, WhatTheCardHasNotIsNamedOrComputedOnTheHost) {
  NetBuilder b(Shape{1, 32, 8, 8});
  ValueId y = b.add(Unary{Unary::Kind::erf}, {b.conv(b.x, 32, 3)});
  y = b.conv(y, 32, 3);
  const Graph graph = b.done(y);
  try {
    lower(graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("(Unary) has no operator on the card"), HasSubstr("--fallback host")));
  }
  const Ran ran = expect_agrees(graph, DType::bfloat16, true);
  EXPECT_EQ(ran.ops[1], "Unary (host)");
  EXPECT_THAT(ran.simulation.steps[1].note, HasSubstr("on the host"));
}

// Three results of 16 KiB a core, one after the other, all needed at the end.
Graph hoarder() {
  NetBuilder b(Shape{1, 32, 64, 128});
  const ValueId a = b.conv(b.x, 64, 3), c = b.conv(a, 64, 3), d = b.conv(c, 64, 3);
  return b.done(b.add(Binary{Binary::Kind::add}, {b.add(Binary{Binary::Kind::add}, {d, c}), a}));
}

TEST(Simulate, WhatIsNeededLastGoesToDramFirst) {
  const Graph graph = hoarder();
  const LoweredGraph network = lower(graph);
  const std::vector<Array> inputs = random_inputs(graph);
  const Simulation roomy = simulate(null_card(), network, inputs);
  const auto spills = [](const Simulation& s) {
    std::vector<SimulatedStep> out;
    for (const SimulatedStep& step : s.steps)
      if (step.move == MoveKind::spill) out.push_back(step);
    return out;
  };
  EXPECT_TRUE(spills(roomy).empty());
  std::int64_t peak = 0;
  for (const SimulatedStep& step : roomy.steps) peak = std::max(peak, step.l1_peak_bytes);
  const auto small = null_card(32768 + peak - 10 * 1024);
  const Simulation tight = simulate(small, network, inputs);
  ASSERT_FALSE(spills(tight).empty());
  EXPECT_EQ(spills(tight)[0].node, graph.nodes[0].name) << "the first result is read last";
  EXPECT_THAT(spills(tight)[0].note, HasSubstr("to make room for"));
  expect_sound(tight.timeline);
  expect_sound(roomy.timeline);
}

TEST(Simulate, WhatFitsNowhereIsTheErrorOfTheFirstAttempt) {
  const Graph graph = hoarder();
  try {
    simulate(null_card(32768 + 4096), lower(graph), random_inputs(graph));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("L1"), HasSubstr("(conv2d), operator 1 of 5")));
  }
}

TEST(Simulate, LayersCanBeConfigured) {
  NetBuilder b(Shape{1, 32, 64, 64});
  const Graph graph = b.done(b.conv(b.conv(b.x, 32, 3), 32, 3));
  SimulateOptions options;
  options.layers = parse_layer_configs(R"({
    "*": {"weights_dtype": "bfloat16", "memory": "L1"},
    ")" + graph.nodes[0].name + R"(": {"shard_layout": "HEIGHT_SHARDED", "act_block_h_override": 32, "memory": "DRAM"},
    ")" + graph.nodes[1].name + R"(": {"slice": {"type": "DRAM_HEIGHT", "num_slices": 4}}})");
  const Simulation done = simulate(null_card(), lower(graph), random_inputs(graph), options);
  ASSERT_EQ(done.steps.size(), 2u);
  EXPECT_THAT(done.steps[0].config, AllOf(HasSubstr("HEIGHT_SHARDED"), HasSubstr("act_block_h 32")));
  EXPECT_EQ(done.steps[0].output_bytes, 0) << "in DRAM";
  EXPECT_THAT(done.steps[1].config, HasSubstr("DRAM_HEIGHT slices"));
}

// All but the numbers: the same programs, addresses and transfers, whether or not anything is computed.
TEST(Simulate, WithoutValuesMemoryAndTransfersAreTheSame) {
  for (const char* model : {"resnet18", "shallow_unet", "mobilenet_v2"}) {
    SCOPED_TRACE(model);
    const Graph graph = make_zoo_model(model);
    const LoweredGraph network = lower(graph);
    const std::vector<Array> inputs = random_inputs(graph);
    const auto full = card(), null = null_card();
    const Simulation with = simulate(full, network, inputs), without = simulate(null, network, inputs);
    EXPECT_EQ(with.outputs.size(), graph.outputs.size());
    EXPECT_TRUE(without.outputs.empty()) << "there is nothing that could be mistaken for a result";
    ASSERT_EQ(with.steps.size(), without.steps.size());
    for (std::size_t i = 0; i < with.steps.size(); ++i) {
      const SimulatedStep &a = with.steps[i], &b = without.steps[i];
      SCOPED_TRACE(a.node);
      EXPECT_EQ(a.config, b.config);
      EXPECT_EQ(a.result, b.result);
      EXPECT_EQ(a.note, b.note);
      EXPECT_EQ(a.l1_peak_bytes, b.l1_peak_bytes);
      EXPECT_EQ(a.l1_small_bytes, b.l1_small_bytes);
    }
    ASSERT_EQ(with.timeline.buffers.size(), without.timeline.buffers.size());
    for (std::size_t i = 0; i < with.timeline.buffers.size(); ++i)
      EXPECT_EQ(with.timeline.buffers[i].address, without.timeline.buffers[i].address) << i;
    // Outputs are read back only where they mean something.
    ASSERT_EQ(full->trace().size(), null->trace().size() + graph.outputs.size());
    for (std::size_t i = 0; i < null->trace().size(); ++i) {
      const TraceRecord &a = full->trace()[i], &b = null->trace()[i];
      EXPECT_EQ(a.op(), b.op()) << i;
      EXPECT_EQ(a.detail, b.detail) << i;
      ASSERT_EQ(a.transfers.size(), b.transfers.size()) << a.op();
      for (std::size_t t = 0; t < a.transfers.size(); ++t)
        EXPECT_EQ(a.transfers[t].bytes, b.transfers[t].bytes) << a.op();
    }
  }
}

TEST(Simulate, MistakesInConfigsAreNamed) {
  const auto message = [](const std::string& json) -> std::string {
    try {
      parse_layer_configs(json);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("["), HasSubstr("no JSON"));
  EXPECT_THAT(message(R"({"a": {"act_block_h_overide": 32}})"),
              AllOf(HasSubstr("no field 'act_block_h_overide'"), HasSubstr("act_block_h_override")));
  EXPECT_THAT(message(R"({"a": {"shard_layout": "TALL"}})"), HasSubstr("HEIGHT_SHARDED"));
  EXPECT_THAT(message(R"({"a": {"act_block_h_override": -32}})"), HasSubstr("while reading"));
  EXPECT_THAT(message(R"({"a": {"math_fidelity": "HiFi5"}})"), HasSubstr("HiFi4"));
  EXPECT_THAT(message(R"({"a": 3})"), HasSubstr("no object"));
  EXPECT_EQ(message("{}"), "");
}

TEST(Simulate, NetworksOfTheZooFitOrSpill) {
  for (const char* model : {"resnet18", "shallow_unet"}) {
    const Graph graph = make_zoo_model(model);
    const Simulation done = simulate(null_card(), lower(graph), random_inputs(graph));
    EXPECT_GT(done.steps.size(), 20u) << model;
    expect_sound(done.timeline);
  }
}

}  // namespace
}  // namespace tessera::tensix
