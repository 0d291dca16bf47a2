#include "tessera/graph/passes/pass.h"

#include "tessera/graph/evaluate.h"

#include "tessera/graph/zoo/zoo.h"

#include "op_testing.h"
#include "pass_testing.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <map>

namespace tessera {
namespace {

using testing::HasSubstr;
constexpr std::int64_t kUnknown = TensorType::kUnknown;

std::vector<std::string> value_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values) names.push_back(value.name);
  return names;
}

// y = reshape(x, [shape(x)[0], -1]), as exporters write it, of a tensor [batch, 3, 4].
Graph flatten_by_shape(std::int64_t batch) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, std::vector<std::int64_t>{batch, 3, 4}));
  const ValueId shape = graph.add("shape", ShapeOf{}, {x});
  const ValueId first = graph.add("first", Gather{0}, {shape, graph.add_constant("zero", int64s({0}))});
  const ValueId wanted = graph.add("wanted", Concat{0}, {first, graph.add_constant("rest", int64s({-1}))});
  graph.outputs = {graph.add("y", Reshape{}, {x, wanted})};
  return graph;
}

TEST(Passes, FoldShapeArithmeticOfKnownShapes) {
  Graph graph = flatten_by_shape(2);
  run_passes(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].name, "y");
  EXPECT_THAT(value_names(graph), testing::ElementsAre("x", "wanted", "y"));
  EXPECT_EQ(graph.value(graph.outputs[0]).type.to_string(), "float32[2, 12]");
  EXPECT_EQ(evaluate(graph, {counting({2, 3, 4})}).front(), counting({2, 12}));
}

TEST(Passes, SettleShapesThatDependOnUnknownExtents) {
  Graph graph = flatten_by_shape(kUnknown);
  run_passes(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(evaluate(graph, {counting({5, 3, 4})}).front(), counting({5, 12}));
}

TEST(Passes, KeepWhatDependsOnUnknownExtentsWhenSwitchedOff) {
  Graph graph = flatten_by_shape(kUnknown);
  run_passes(graph, {.off = {"eliminate_shape_arithmetic"}});
  EXPECT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(evaluate(graph, {counting({5, 3, 4})}).front(), counting({5, 12}));
}

TEST(Passes, FoldKnownPartsOfShapesThatAreNotKnownAsAWhole) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, std::vector<std::int64_t>{kUnknown, 3, 4}));
  graph.outputs = {graph.add("tail", ShapeOf{.start = 1, .end = {}}, {x}), graph.add("size", SizeOf{}, {x})};
  EXPECT_TRUE(fold_constants(graph));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].name, "size");
  EXPECT_EQ(*graph.value(graph.outputs[0]).constant, int64s({3, 4}));
  EXPECT_FALSE(fold_constants(graph));
}

TEST(Passes, CanBeSwitchedOffByName) {
  Graph graph = flatten_by_shape(2);
  run_passes(graph, {.off = {"constant_folding", "eliminate_shape_arithmetic"}});
  EXPECT_EQ(graph.nodes.size(), 4U);
  run_passes(graph, {.off = {"dead_code"}});
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_THAT(value_names(graph), testing::Contains("zero"));
}

TEST(Passes, ListTheirNamesWhenAskedForAnother) {
  Graph graph = flatten_by_shape(2);
  const std::string error = error_of([&] { run_passes(graph, {.off = {"dead_cod"}}); });
  EXPECT_THAT(error, HasSubstr("no pass 'dead_cod', only fuse_quantization, eliminate_shape_arithmetic, "));
  EXPECT_EQ(graph.nodes.size(), 4U);
}

TEST(Passes, RefuseBrokenGraphs) {
  Graph graph = flatten_by_shape(2);
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_THAT(error_of([&] { run_passes(graph); }), HasSubstr("before anything makes it"));
}

std::string described(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += fmt::format("{} {} {} {} {}", node.name, name(node.op), fmt::join(node.inputs, ","),
                        fmt::join(node.outputs, ","), node.fused_inputs);
    for (const FusedOp& fused : node.fused)
      text += fmt::format(" {}({})", name(fused.op), fmt::join(fused.operands, ","));
    text += "\n";
  }
  for (const Value& value : graph.values) text += fmt::format("{} {}\n", value.name, value.type.to_string());
  return text;
}

// The network at a small size, its batch unknown.
Graph small_network(const char* model, std::int64_t extent) {
  Graph graph = make_zoo_model(model);
  TensorType& type = graph.value(graph.inputs[0]).type;
  type.dims = std::vector<std::int64_t>{kUnknown, (*type.dims)[1], extent, extent};
  infer_types(graph);
  return graph;
}

TEST(Passes, KeepWhatNetworksComputeAtAnyBatchAndSettle) {
  for (const auto& [model, extent] : {std::pair{"resnet18", 32}, std::pair{"mobilenet_v2", 32}, std::pair{"unet", 16},
                                      std::pair{"efficientnet_like", 32}, std::pair{"yolo_like", 32}}) {
    SCOPED_TRACE(model);
    const Graph before = small_network(model, extent);
    Graph after = before;
    run_passes(after);
    const std::int64_t channels = (*before.value(before.inputs[0]).type.dims)[1];
    expect_same_results(before, after, {PassInputs(71).floating({2, channels, extent, extent}, 1.7)});
    EXPECT_LT(after.nodes.size(), before.nodes.size());
    for (const Node& node : after.nodes)
      EXPECT_FALSE(std::holds_alternative<BatchNorm>(node.op) || std::holds_alternative<Clip>(node.op)) << node.name;
    const std::string once = described(after);
    run_passes(after);
    EXPECT_EQ(described(after), once);
  }
}

TEST(Passes, GiveResNetConvolutionsEverythingThatFollowsThem) {
  Graph graph = small_network("resnet18", 32);
  run_passes(graph);
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes) {
    std::string kind(name(node.op));
    for (const FusedOp& fused : node.fused) kind += "+" + std::string(name(fused.op));
    ++counts[kind];
  }
  EXPECT_THAT(counts, testing::UnorderedElementsAre(
                          testing::Pair("Conv+Unary+MaxPool", 1), testing::Pair("Conv+Unary", 8),
                          testing::Pair("Conv+Binary+Unary", 8), testing::Pair("Conv", 3),
                          testing::Pair("GlobalPool", 1), testing::Pair("Flatten", 1), testing::Pair("Gemm", 1)));
}

TEST(Passes, ReachIntoBodies) {
  auto body = std::make_shared<Graph>();
  const ValueId in = body->add_input("in", TensorType(ElementType::float32, Shape{7}));  // declared, and wrong
  body->outputs = {
      body->add("silu", Binary{Binary::Kind::mul}, {in, body->add("s", Unary{Unary::Kind::sigmoid}, {in})})};
  auto other = std::make_shared<Graph>();
  other->outputs = {
      other->add("neg", Unary{Unary::Kind::neg}, {other->add_input("in", TensorType(ElementType::float32, Shape{7}))})};
  Graph graph;
  const ValueId condition = graph.add_input("condition", TensorType(ElementType::boolean, Shape{}));
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 3}));
  graph.outputs = {graph.add("y", If{body, other, 1}, {condition, x})};
  Graph after = graph;
  run_passes(after);
  ASSERT_EQ(node_list(after), "If");
  const If& choice = std::get<If>(after.nodes[0].op);
  EXPECT_EQ(node_list(*choice.then_branch), "Unary");
  EXPECT_EQ(choice.else_branch, other) << "nothing to do there";
  EXPECT_EQ(node_list(*body), "Unary Binary") << "others may hold it";
  for (const bool taken : {true, false})
    expect_same_results(graph, after, {array_of<bool>(Shape{}, {taken}), PassInputs(72).floating({2, 3})});
  const If once = choice;
  run_passes(after);
  EXPECT_EQ(std::get<If>(after.nodes[0].op), once);
}

TEST(ConstantFolding, LeavesFaultsAndLargeResultsToTheRun) {
  Graph graph;
  const ValueId list = graph.add_constant("list", int64s({1, 2}));
  const ValueId fault = graph.add("fault", Gather{0}, {list, graph.add_constant("five", int64s({5}))});
  const ValueId large = graph.add("large", ConstantOfShape{}, {graph.add_constant("extent", int64s({1L << 28}))});
  graph.outputs = {fault, large};
  EXPECT_FALSE(fold_constants(graph));
  EXPECT_EQ(graph.nodes.size(), 2U);
}

TEST(DeadCode, DropsNodesAndValuesAndCompactsIds) {
  Graph graph;
  graph.add_constant("unused", int64s({1}));
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 2}));
  graph.add_input("ignored", TensorType(ElementType::float32, Shape{1}));
  graph.add("dead", Transpose{}, {x});
  const std::vector<ValueId> parts = graph.add_node("parts", Split{.axis = 0, .sizes = {1, 1}, .outputs = 2}, {x}, 2);
  graph.outputs = {parts[1]};
  EXPECT_TRUE(remove_dead_code(graph));
  verify(graph);
  EXPECT_THAT(value_names(graph), testing::ElementsAre("x", "ignored", "parts:1"));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_THAT(graph.nodes[0].outputs, testing::ElementsAre(kNoValue, 2));
  EXPECT_EQ(evaluate(graph, {counting({2, 2}), counting({1})}).front(), floats({1, 2}, {2, 3}));
  EXPECT_FALSE(remove_dead_code(graph));
}

}  // namespace
}  // namespace tessera
