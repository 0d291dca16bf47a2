#include "tessera/targets/apple/emit/mlx.h"
#include "tessera/targets/apple/emit/mlx_functions.h"
#include "tessera/targets/neuron/emit/nki.h"
#include "tessera/targets/tensix/emit/ttnn.h"

#include "tests/io/io_test.h"

#include "tessera/core/file.h"
#include "tessera/graph/zoo/layer.h"
#include "tessera/io/safetensors.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/plan/plan_network.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

namespace tessera {
namespace {

using namespace io_test;
using tensix::CardPlan;
using tensix::Placement;
using tensix::PlannedMove;
using tensix::PlannedStep;
using testing::HasSubstr;

Array ramp(const Shape& shape) {
  Array x(ElementType::float32, shape);
  for (std::int64_t i = 0; i < x.count(); ++i)
    x.as<float>()[static_cast<std::size_t>(i)] = 0.25f * static_cast<float>(i % 7 - 3);
  return x;
}

// Everything that a plan can hold, small: a convolution, a pool, a branch that waits in DRAM, a sum, a classifier.
Graph small_network() {
  Graph g;
  g.name = "small";
  const ValueId x = g.add_input("x", {ElementType::float32, std::vector<std::int64_t>{1, 16, 8, 8}});
  const auto conv = [&](const char* name, ValueId in, std::int64_t out, std::int64_t k) {
    const ValueId w =
        g.add_constant(fmt::format("{}.weight", name), ramp(Shape{out, g.value(in).type.shape()[1], k, k}));
    const ValueId b = g.add_constant(fmt::format("{}.bias", name), ramp(Shape{out}));
    Conv op;
    op.window.pads.assign(4, k / 2);
    return g.add(name, op, {in, w, b});
  };
  ValueId a = g.add("relu1", Unary{Unary::Kind::relu}, {conv("conv1", x, 32, 3)});
  MaxPool pool;
  pool.window.kernel = pool.window.strides = {2, 2};
  a = g.add("pool1", pool, {a});
  const ValueId b = conv("conv2", a, 32, 1);
  const ValueId sum = g.add("relu2", Unary{Unary::Kind::relu}, {g.add("sum", Binary{Binary::Kind::add}, {b, a})});
  const ValueId flat = g.add("flat", Flatten{}, {sum});
  const ValueId w = g.add_constant("fc.weight", ramp(Shape{10, 512})), c = g.add_constant("fc.bias", ramp(Shape{10}));
  g.outputs = {g.add("fc", Gemm{.transpose_b = true}, {flat, w, c})};
  return g;
}

tensix::MemoryConfig height_shards(std::int64_t rows, std::int64_t columns, int cores) {
  return tensix::MemoryConfig(tensix::TensorMemoryLayout::height_sharded, tensix::BufferType::l1,
                              tensix::ShardSpec{tensix::CoreRange({0, 0}, {cores - 1, 0}), {rows, columns}});
}

CardPlan small_plan(const tensix::LoweredGraph& network) {
  CardPlan plan;
  plan.model = "small";
  plan.machine = "wormhole_n150";
  plan.kernels_ns = 12345;
  const auto step = [&](const char* node, const Placement& result, std::int64_t peak, std::vector<std::string> frees) {
    for (const tensix::LoweredNode& each : network.nodes) {
      if (each.name != node) continue;
      PlannedStep out;
      out.node = node;
      out.op = each.op;
      out.role = *tensix::call_role(each.op);
      for (const ValueId id : each.inputs) out.reads.push_back(network.graph.value(id).name);
      out.makes = network.graph.value(each.outputs[0]).name;
      out.frees = std::move(frees);
      out.result = result;
      out.predicted.l1_peak_bytes = peak;
      plan.steps.push_back(out);
      return &plan.steps.back();
    }
    ADD_FAILURE() << node;
    return static_cast<PlannedStep*>(nullptr);
  };
  const auto rows = [](std::int64_t n, std::int64_t c, DType dtype, Layout layout, const tensix::MemoryConfig& memory) {
    return Placement{Shape{1, 1, n, c}, dtype, layout, memory};
  };
  PlannedStep* s = step("conv1", rows(64, 32, DType::bfloat16, Layout::tile, height_shards(32, 32, 2)), 40000, {"x"});
  s->why = "fastest of 12";
  s->config.conv.shard_layout = tensix::TensorMemoryLayout::height_sharded;
  s->config.conv.act_block_h_override = 32;
  s->config.conv.enable_act_double_buffer = true;
  s->config.conv_fields = {"shard_layout", "act_block_h_override", "enable_act_double_buffer"};
  s->config.weights_dtype = DType::bfloat16;
  s->config.fidelity = tensix::MathFidelity::hifi2;
  s->config.packer_l1_acc = true;
  step("pool1", rows(16, 32, DType::bfloat16, Layout::row_major, height_shards(8, 32, 2)), 30000, {"relu1"});
  s = step("conv2", rows(16, 32, DType::bfloat16, Layout::tile, tensix::kDramMemoryConfig), 20000, {});
  s->moves.push_back({PlannedMove::Kind::spill, "pool1", tensix::kDramMemoryConfig, 100, "to make room for conv2"});
  s->config.memory = tensix::BufferType::dram;
  s->config.height_slices = true;
  s->config.slices = 2;
  step("sum", rows(16, 32, DType::bfloat8_b, Layout::tile, tensix::kDramMemoryConfig), 1000, {"conv2", "pool1"})
      ->config.dtype = DType::bfloat8_b;
  step("flat", rows(1, 512, DType::bfloat16, Layout::row_major, tensix::kDramMemoryConfig), 0, {"relu2"});
  step("fc", rows(1, 10, DType::bfloat16, Layout::tile, tensix::kDramMemoryConfig), 2000, {"flat"});
  return plan;
}

// TESSERA_UPDATE_GOLDEN=1 writes what came out instead.
void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = data_path("emit/" + name);
  if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) write_file_atomically(path, text);
  EXPECT_EQ(read_all(path), text) << path;
}

TEST(EmitTtnn, WritesEveryCallOfAPlan) {
  const tensix::LoweredGraph network = tensix::lower(small_network());
  const emit::Script script = tensix::ttnn_script(network, small_plan(network), "small.safetensors");
  expect_golden("small_ttnn.py", script.text);
  std::vector<std::string> names;
  for (const emit::ScriptWeight& each : script.weights) names.push_back(each.name);
  EXPECT_THAT(names,
              testing::ElementsAre("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc.weight", "fc.bias"));
}

TEST(EmitMlx, ASlopeOfOneIsTheFunctionThatHasNone) {
  const auto silu = [](float alpha) { return apple::function_text(Unary{Unary::Kind::silu, alpha}, "x"); };
  EXPECT_EQ(silu(0), "x * mx.sigmoid(x)");
  EXPECT_EQ(silu(1), "x * mx.sigmoid(x)");
  EXPECT_EQ(silu(2), "x * mx.sigmoid(2.0 * x)");
}

// By its name alone it would be refused: TTNN wants the slope.
TEST(EmitTtnn, WritesTheSlopeThatAConvolutionTakesAlong) {
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, Shape{1, 16, 8, 8}});
  const ValueId y = g.add("conv", Conv{}, {x, g.add_constant("w", ramp(Shape{16, 16, 1, 1}))});
  g.outputs = {g.add("leaky", Unary{Unary::Kind::leaky_relu, 0.01f}, {y})};
  const tensix::LoweredGraph network = tensix::lower(g);
  ASSERT_EQ(network.nodes.size(), 1u);
  const CardPlan plan = tensix::plan_network(network, load_machine("wormhole_n150"), {});
  EXPECT_THAT(tensix::ttnn_script(network, plan, "w.safetensors").text,
              HasSubstr("activation=unary(\"leaky_relu\", 0.01)"));
}

TEST(EmitTtnn, CardsOfAMeshHaveABatchEach) {
  const tensix::LoweredGraph network = tensix::lower(small_network());
  tensix::CardPlan plan = small_plan(network);
  const std::int64_t batch = network.graph.value(network.graph.inputs[0]).type.shape()[0];
  const auto inputs_of = [&] {
    const std::string text = tensix::ttnn_script(network, plan, "small.safetensors").text;
    const std::size_t at = text.find("INPUTS = {");
    return std::pair(text.substr(at, text.find(", ", at) - at), text.find("CARDS = 3\n") != std::string::npos);
  };
  EXPECT_THAT(inputs_of().first, testing::EndsWith(fmt::format("({}", batch)));
  EXPECT_FALSE(inputs_of().second);
  plan.request.mesh = 3;
  EXPECT_THAT(inputs_of().first, testing::EndsWith(fmt::format("({}", 3 * batch)));
  EXPECT_TRUE(inputs_of().second);
}

TEST(EmitTtnn, ListsAllOperatorsThatTheCardDoesNotHave) {
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, std::vector<std::int64_t>{1, 4, 8, 8}});
  const ValueId a = g.add("odd", Unary{Unary::Kind::acosh}, {x});
  g.outputs = {g.add("odder", Unary{Unary::Kind::sinh}, {a})};
  const tensix::LoweredGraph network = tensix::lower(g, {.host_fallback = true});
  expect_refusal(Code::unsupported, "2 of 2 operators have no TTNN call: 'odd' (Unary (host)), 'odder' (Unary (host))",
                 [&] { tensix::ttnn_script(network, CardPlan{}, ""); });
}

TEST(EmitTtnn, RefusesAPlanOfAnotherNetwork) {
  const tensix::LoweredGraph network = tensix::lower(small_network());
  CardPlan plan = small_plan(network);
  plan.steps.pop_back();
  expect_refusal(Code::invalid_argument, "the plan has 5 steps, the network 6 operators",
                 [&] { tensix::ttnn_script(network, plan, ""); });
}

TEST(EmitMlx, WritesNetworksWithImagesAsMlxHasThem) {
  const emit::Script script = apple::mlx_script(small_network(), "small", "small.safetensors");
  expect_golden("small_mlx.py", script.text);
  for (const emit::ScriptWeight& each : script.weights)
    if (each.name == "conv1.weight") {
      EXPECT_THAT(each.shape, testing::ElementsAre(32, 3, 3, 16));
    }
}

TEST(EmitMlx, ListsAllOperatorsThatItHasNoCodeFor) {
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, std::vector<std::int64_t>{1, 4, 8, 8}});
  const ValueId a = g.add("odd", Unary{Unary::Kind::acosh}, {x});
  g.outputs = {g.add("odder", Lrn{}, {a})};
  expect_refusal(Code::unsupported,
                 "2 of 2 operators cannot be written as MLX code: 'odd' (Unary: no such function), 'odder' (Lrn)",
                 [&] { apple::mlx_script(g, "m", ""); });
}

TEST(EmitMlx, WritesLiquidLayers) {
  ncp::CfcLayer layer;
  layer.inputs = 3;
  layer.units = 8;
  layer.backbone = {16, 16};
  const auto parameters = ncp::converted<float>(ncp::initial_parameters(layer, 1));
  const emit::Script script = apple::mlx_script(layer, parameters, "liquid", "liquid.safetensors");
  expect_golden("liquid_mlx.py", script.text);
  EXPECT_EQ(script.weights.size(), ncp::parameter_list(layer).size());
}

TEST(EmitNki, WritesTheLayersThatFitAndSaysWhyOthersDoNot) {
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, std::vector<std::int64_t>{1, 128, 10, 10}});
  const auto conv = [&](const char* name, ValueId in, std::int64_t out, std::int64_t stride) {
    const ValueId w =
        g.add_constant(fmt::format("{}.weight", name), ramp(Shape{out, g.value(in).type.shape()[1], 3, 3}));
    Conv op;
    op.window.pads.assign(4, 1);
    op.window.strides = {stride, stride};
    return g.add(name, op, {in, w});
  };
  ValueId a = g.add("relu1", Unary{Unary::Kind::relu}, {conv("conv1", x, 128, 1)});
  MaxPool pool;
  pool.window.kernel = pool.window.strides = {2, 2};
  a = g.add("pool1", pool, {a});
  a = conv("conv2", a, 100, 1);
  a = conv("conv3", a, 128, 2);
  g.outputs = {g.add("end", Unary{Unary::Kind::tanh}, {a})};
  const neuron::NkiNetwork network =
      neuron::nki_network(g, neuron_of(load_machine("trainium1")), "small", "small.safetensors");
  ASSERT_EQ(network.layers.size(), 1u);
  EXPECT_EQ(network.layers[0].problem.pool, 2);
  EXPECT_EQ(network.layers[0].problem.h, 12);
  EXPECT_TRUE(network.layers[0].relu);
  ASSERT_EQ(network.left_out.size(), 2u);
  EXPECT_THAT(network.left_out[0].reason, HasSubstr("100 output channels: multiples of 128"));
  EXPECT_EQ(network.left_out[1].reason, "a stride of 2x2");
  EXPECT_EQ(network.other_operators, 1);
  EXPECT_THAT(network.script.text, HasSubstr("\"conv1\": (fused_conv2d_maxpool_0, (1, 128, 10, 10), (1, 1), 2, True,"));
  EXPECT_THAT(network.script.text, HasSubstr("\"conv3\": \"a stride of 2x2\""));
}

TEST(EmitNki, GivesAllReasonsWhereNothingFits) {
  Graph g;
  const ValueId x = g.add_input("x", {ElementType::float32, std::vector<std::int64_t>{1, 16, 8, 8}});
  g.outputs = {g.add("conv", Conv{}, {x, g.add_constant("w", ramp(Shape{16, 16, 3, 3}))})};
  expect_refusal(Code::unsupported, "no layer can be written as a fused convolution for a NeuronCore: 'conv': 16 input",
                 [&] { neuron::nki_network(g, neuron_of(load_machine("trainium1")), "m", ""); });
}

TEST(EmitScript, KeepsItsWeightsBesideIt) {
  EXPECT_EQ(emit::weights_file_of("a/b/net.py"), "net.safetensors");
  const TemporaryDirectory temporary;
  const std::filesystem::path& folder = temporary.path();
  emit::save_script(folder / "net.py", apple::mlx_script(small_network(), "small", "net.safetensors"));
  const SafetensorsFile file(folder / "net.safetensors");
  EXPECT_EQ(file.tensor("fc.bias").shape, std::vector<std::int64_t>{10});
  EXPECT_THAT(read_all(folder / "net.py"), HasSubstr("WEIGHTS_FILE = \"net.safetensors\""));
}

}  // namespace
}  // namespace tessera
