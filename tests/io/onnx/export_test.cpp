#include "tessera/io/onnx/export.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/onnx/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

onnx::pb::ModelProto parsed(const std::vector<std::byte>& bytes) {
  onnx::pb::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return model;
}

std::vector<std::string> op_types(const onnx::pb::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

Graph round_trip(const Graph& graph, const ExportOptions& options = {}) {
  return import_onnx_bytes(export_onnx_bytes(graph, options));
}

std::vector<Array> random_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Array> inputs;
  for (const ValueId id : graph.inputs) {
    Array array(ElementType::float32, graph.value(id).type.shape());
    for (float& value : array.as<float>()) value = normal(random);
    inputs.push_back(std::move(array));
  }
  return inputs;
}

// The same operators on the same values under the same names: then they compute the same.
void expect_same_graph(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  const auto expect_same_value = [&](ValueId x, ValueId y) {
    ASSERT_EQ(x == kNoValue, y == kNoValue);
    if (x == kNoValue) return;
    const Value &u = a.value(x), &v = b.value(y);
    ASSERT_EQ(u.name, v.name);
    ASSERT_EQ(u.type, v.type) << u.name;
    ASSERT_EQ(u.constant == nullptr, v.constant == nullptr) << u.name;
    if (u.constant) {
      ASSERT_TRUE(*u.constant == *v.constant) << u.name;
    }
  };
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    ASSERT_EQ(x.name, y.name);
    ASSERT_TRUE(x.op == y.op) << x.name;
    // Before opset 18 a split into equal parts has to say how large they are.
    const std::size_t inputs = std::holds_alternative<Split>(x.op) ? 1 : x.inputs.size();
    ASSERT_TRUE(y.inputs.size() == x.inputs.size() || y.inputs.size() == inputs + 1) << x.name;
    ASSERT_EQ(x.outputs.size(), y.outputs.size()) << x.name;
    for (std::size_t k = 0; k < inputs; ++k) expect_same_value(x.inputs[k], y.inputs[k]);
    for (std::size_t k = 0; k < x.outputs.size(); ++k) expect_same_value(x.outputs[k], y.outputs[k]);
  }
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) expect_same_value(a.outputs[i], b.outputs[i]);
}

class ZooExport : public testing::TestWithParam<std::string_view> {};

TEST_P(ZooExport, ComesBackAsTheSameGraph) {
  const Graph graph = make_zoo_model(GetParam());
  expect_same_graph(graph, round_trip(graph));
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooExport, testing::ValuesIn([] {
                           std::vector<std::string_view> names;
                           for (const ZooModel& model : zoo()) names.push_back(model.name);
                           return names;
                         }()),
                         [](const auto& model) { return std::string(model.param); });

TEST(Export, EveryOpsetComesBackAsTheSameGraph) {
  const Graph graph = make_zoo_model("shallow_unet");
  for (std::int64_t opset = ExportOptions::kOldestOpset; opset <= ExportOptions::kNewestOpset; ++opset)
    expect_same_graph(graph, round_trip(graph, {.opset = opset}));
}

TEST(Export, AZooModelOnASmallImageComputesTheSameAfterwards) {
  Graph graph = make_zoo_model("shallow_unet");
  graph.value(graph.inputs[0]).type.dims = {{1, 4, 16, 32}};
  infer_types(graph);
  const std::vector<Array> inputs = random_inputs(graph, 1);
  EXPECT_TRUE(evaluate(graph, inputs) == evaluate(round_trip(graph), inputs));
}

// x, convolved with what follows fused into it.
Graph fused_graph() {
  Graph graph;
  graph.name = "fused";
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 3, 6, 5}));
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto weights = [&](const std::string& name, const Shape& shape) {
    Array array(ElementType::float32, shape);
    for (float& value : array.as<float>()) value = normal(random);
    return graph.add_constant(name, std::move(array));
  };
  const ValueId w = weights("w", Shape{3, 3, 3, 3}), b = weights("b", Shape{3}), scale = weights("s", Shape{3, 1, 1});
  Conv conv;
  conv.window.kernel = {3, 3};
  conv.window.pads = {1, 1, 1, 1};
  const ValueId y = graph.add("conv", conv, {x, w, b});
  Node& node = graph.nodes.back();
  node.inputs.insert(node.inputs.end(), {x, scale});
  node.fused_inputs = 2;
  node.fused = {{Binary{Binary::Kind::add}, {3, FusedOp::kChained}},
                {Unary{Unary::Kind::leaky_relu, 0.125f}, {FusedOp::kChained}},
                {Binary{Binary::Kind::mul}, {FusedOp::kChained, 4}},
                {Unary{Unary::Kind::silu}, {FusedOp::kChained}}};
  graph.outputs = {y};
  verify(graph);
  return graph;
}

TEST(Export, WritesWhatWasFusedAsNodesOfItsOwn) {
  const Graph graph = fused_graph();
  EXPECT_THAT(op_types(parsed(export_onnx_bytes(graph))),
              ElementsAre("Conv", "Add", "LeakyRelu", "Mul", "Sigmoid", "Mul"));
  const std::vector<Array> inputs = random_inputs(graph, 2);
  const Graph again = round_trip(graph);
  EXPECT_EQ(again.value(again.outputs[0]).name, graph.value(graph.outputs[0]).name);
  const std::vector<double> a = evaluate(graph, inputs)[0].to_double(), b = evaluate(again, inputs)[0].to_double();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)  // the gate is rounded on its way: one step of float32 each
    EXPECT_NEAR(a[i], b[i], 2 * std::numeric_limits<float>::epsilon() * std::abs(a[i]));
}

TEST(Export, ChoosesTheOldestOpsetThatHasEveryOperator) {
  const auto opset_for = [](Unary::Kind kind) {
    Graph graph;
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{4}));
    graph.outputs = {graph.add("y", Unary{kind, 0, 0}, {x})};
    const onnx::pb::ModelProto model = parsed(export_onnx_bytes(graph));
    return std::pair(model.opset_import(0).version(), model.ir_version());
  };
  EXPECT_EQ(opset_for(Unary::Kind::relu), std::pair(std::int64_t{17}, std::int64_t{8}));
  EXPECT_EQ(opset_for(Unary::Kind::mish), std::pair(std::int64_t{18}, std::int64_t{8}));
  EXPECT_EQ(opset_for(Unary::Kind::gelu), std::pair(std::int64_t{20}, std::int64_t{9}));
}

TEST(OnnxExport, LiquidCellsBecomeLoops) {
  const auto numbers = [](Graph& graph, const char* name, const Shape& shape) {
    Array out(ElementType::float32, shape);
    float next = 0.3F;
    for (float& value : out.as<float>()) value = next = std::fmod(next * 1.7F + 0.11F, 1.0F);
    return graph.add_constant(name, std::move(out));
  };
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 2, 3}));
  const ValueId cfc =
      graph.add("cfc", Cfc{}, {x, kNoValue, kNoValue, numbers(graph, "heads", {8, 5}), numbers(graph, "biases", {8})});
  graph.outputs = {graph.add("ltc", Ltc{},
                             {cfc, kNoValue, kNoValue, numbers(graph, "membrane", {3, 4}),
                              numbers(graph, "sensory", {4, 2, 4}), numbers(graph, "recurrent", {4, 4, 4})})};
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
  for (const Node& node : again.nodes)
    EXPECT_FALSE(std::holds_alternative<Cfc>(node.op) || std::holds_alternative<Ltc>(node.op));
  Array input(ElementType::float32, Shape{1, 2, 3});
  std::ranges::copy(std::array{0.5F, -1.0F, 2.0F, 0.25F, 1.0F, -0.5F}, input.as<float>().begin());
  const Array expected = evaluate(graph, {input})[0], found = evaluate(again, {input})[0];
  ASSERT_EQ(found.shape(), expected.shape());
  // Two steps of seven sums and functions each: some tens of roundings of numbers near 1.
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(found.as<float>()[i], expected.as<float>()[i], 1e-5F);
}

TEST(Export, WindowsComeBackAsTheyWere) {
  for (const std::vector<std::int64_t>& dilations : std::vector<std::vector<std::int64_t>>{{1, 1}, {2, 2}, {1, 3}}) {
    Conv op;
    op.window = {.kernel = {2, 2}, .strides = {2, 1}, .dilations = dilations, .pads = {1, 0, 0, 2}};
    Graph graph;
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 1, 9, 9}));
    Array weights(ElementType::float32, Shape{1, 1, 2, 2}), input(ElementType::float32, Shape{1, 1, 9, 9});
    std::iota(weights.as<float>().begin(), weights.as<float>().end(), 1.0F);
    std::iota(input.as<float>().begin(), input.as<float>().end(), 0.0F);
    graph.outputs = {graph.add("conv", op, {x, graph.add_constant("w", weights)})};
    EXPECT_EQ(evaluate(round_trip(graph), {input}), evaluate(graph, {input})) << dilations[1];
  }
}

// Rounded up, 9 elements have 4 windows of 3 in steps of 2. In 5 and two of padding the third of 2 in steps of 4 begins
// beyond them: opset 22 leaves it out, those before do not.
TEST(Export, CeilModeMeansTheSameInTheOpsetThatIsWritten) {
  const auto pool = [](std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    MaxPool op{.ceil_mode = true};
    op.window = {.kernel = {kernel}, .strides = {stride}, .pads = {pad, pad}};
    Graph graph;
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 1, extent}));
    graph.outputs = {graph.add("pool", op, {x})};
    return graph;
  };
  const Graph whole = pool(9, 3, 2, 0), beyond = pool(5, 2, 4, 1);
  EXPECT_EQ(whole.value(whole.outputs[0]).type.shape(), (Shape{1, 1, 4}));
  EXPECT_EQ(beyond.value(beyond.outputs[0]).type.shape(), (Shape{1, 1, 2}));
  expect_same_graph(whole, round_trip(whole, {.opset = 17}));
  EXPECT_THAT([&] { export_onnx_bytes(beyond, {.opset = 17}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("from opset 22 on only")));
}

TEST(Export, PartsOfASplitThatNobodyReadsAreWritten) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 6}));
  const std::vector<ValueId> parts =
      graph.add_node("parts", Split{.axis = 1, .sizes = {1, 2, 3}, .outputs = 3}, {x}, 3);
  graph.outputs = {parts[1]};
  graph.nodes[0].outputs = {kNoValue, parts[1], kNoValue};
  const Graph again = round_trip(graph);
  Array input(ElementType::float32, Shape{2, 6});
  std::iota(input.as<float>().begin(), input.as<float>().end(), 0.0F);
  EXPECT_EQ(evaluate(again, {input}), evaluate(graph, {input}));
}

TEST(OnnxExport, LiquidCellsWhoseWeightsAreInputsAreRefusedByName) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 2, 3}));
  const ValueId heads = graph.add_input("heads", TensorType(ElementType::float32, Shape{8, 5}));
  const ValueId biases = graph.add_input("biases", TensorType(ElementType::float32, Shape{8}));
  graph.outputs = {graph.add("cfc", Cfc{}, {x, kNoValue, kNoValue, heads, biases})};
  EXPECT_THAT([&] { export_onnx_bytes(graph, {.opset = 17}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Cfc (node 'cfc'): ONNX has no operator for a CfC")));
}

TEST(Export, OneErrorListsAllThatTheOpsetLacks) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{4}));
  const ValueId a = graph.add("a", Unary{Unary::Kind::mish}, {x});
  const ValueId b = graph.add("b", Unary{Unary::Kind::mish}, {a});
  const ValueId c = graph.add("c", Unary{Unary::Kind::gelu}, {b});
  graph.outputs = {graph.add("d", Unary{Unary::Kind::relu}, {c})};
  try {
    export_onnx_bytes(graph, {.opset = 17});
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_EQ(error.message(),
              "the graph cannot be written in opset 17:\n"
              "  Unary (node 'c'): Gelu is known from opset 20 on\n"
              "  Unary (node 'a' and 1 more): Mish is known from opset 18 on");
  }
  EXPECT_NO_THROW(export_onnx_bytes(graph, {.opset = 20}));
}

TEST(Export, RefusesOpsetsThatItDoesNotWrite) {
  const Graph graph = fused_graph();
  for (const std::int64_t opset : {16, 22}) {
    try {
      export_onnx_bytes(graph, {.opset = opset});
      FAIL() << opset;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("only 17 to 21"));
    }
  }
}

TEST(Export, GivesValuesOfTheSameNameDifferentOnes) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{4}));
  const ValueId a = graph.add("x", Unary{Unary::Kind::relu}, {x});
  const ValueId b = graph.add("", Unary{Unary::Kind::neg}, {a});
  graph.outputs = {graph.add("x", Unary{Unary::Kind::exp}, {b})};
  const Graph again = round_trip(graph);
  const std::vector<Array> inputs = random_inputs(graph, 4);
  EXPECT_TRUE(evaluate(graph, inputs) == evaluate(again, inputs));
  EXPECT_EQ(again.value(again.inputs[0]).name, "x");
}

TEST(Export, AValueGivenTwiceHasTwoNames) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{4}));
  const ValueId y = graph.add("y", Unary{Unary::Kind::relu}, {x});
  graph.outputs = {y, y};
  const Graph again = round_trip(graph);
  ASSERT_EQ(again.outputs.size(), 2u);
  EXPECT_NE(again.value(again.outputs[0]).name, again.value(again.outputs[1]).name);
  const std::vector<Array> inputs = random_inputs(graph, 5);
  EXPECT_TRUE(evaluate(graph, inputs) == evaluate(again, inputs));
}

TEST(Export, LeavesTheOldFileWhenItFails) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "export_test_kept.onnx";
  write_file_atomically(file, std::string_view("as it was"));
  EXPECT_THROW(export_onnx(fused_graph(), file, {.opset = 3}), Error);
  EXPECT_EQ(read_text_file(file), "as it was");
  export_onnx(fused_graph(), file);
  EXPECT_EQ(import_onnx(file).nodes.size(), 6u);
  std::filesystem::remove(file);
}

TEST(Export, AClipWithoutABoundLetsInfinityPassWhenItComesBack) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{3}));
  graph.outputs = {graph.add("y", Clip{}, {x, graph.add_constant("low", Array::scalar(0.0f))})};
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<Array> inputs{Array::of<float>(Shape{3}, std::vector<float>{-kInf, 2, kInf})};
  EXPECT_EQ(evaluate(round_trip(graph), inputs)[0], evaluate(graph, inputs)[0]);
}

// Bodies read what they capture by the name outside, and give copies of what they do not make.
TEST(Export, BranchesComeBack) {
  auto then_branch = std::make_shared<Graph>(), else_branch = std::make_shared<Graph>();
  const TensorType type(ElementType::float32, Shape{3});
  const ValueId t = then_branch->add_input("x", type);
  then_branch->outputs = {then_branch->add("twice", Binary{Binary::Kind::add}, {t, t})};
  else_branch->outputs = {else_branch->add_input("x", type)};
  Graph graph;
  const ValueId choice = graph.add_input("choice", TensorType(ElementType::boolean, Shape{}));
  const ValueId x = graph.add_input("x", type);
  graph.outputs = {graph.add("chosen", If{then_branch, else_branch, 1}, {choice, x})};
  const Graph again = round_trip(graph);
  for (const bool choose : {true, false}) {
    const std::vector<Array> inputs{Array::scalar<bool>(choose),
                                    Array::of<float>(Shape{3}, std::vector<float>{1, -2, 3})};
    EXPECT_TRUE(evaluate(graph, inputs) == evaluate(again, inputs));
  }
}

TEST(Export, MetadataIsWritten) {
  const Graph graph = make_zoo_model("mobilenet_v2", 1);
  const std::map<std::string, std::string> metadata = {{"tessera.labels", "one\ntwo"}, {"doc_string", "A network."}};
  EXPECT_EQ(onnx_metadata_bytes(export_onnx_bytes(graph, {.metadata = metadata})), metadata);
  EXPECT_EQ(onnx_metadata_bytes(export_onnx_bytes(graph)).size(), 0U);
  try {
    export_onnx_bytes(graph, {.metadata = {{"a", "\xff"}}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the metadata 'a' is not UTF-8 text"));
  }
}

}  // namespace
}  // namespace tessera
