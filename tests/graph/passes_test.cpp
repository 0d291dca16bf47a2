#include "tessera/graph/passes/pass.h"

#include "tessera/graph/evaluate.h"

#include "op_testing.h"

#include <gmock/gmock.h>

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

TEST(Passes, KeepWhatDependsOnUnknownExtents) {
  Graph graph = flatten_by_shape(kUnknown);
  run_passes(graph);
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
  run_passes(graph, {.off = {"constant_folding"}});
  EXPECT_EQ(graph.nodes.size(), 4U);
  run_passes(graph, {.off = {"dead_code"}});
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_THAT(value_names(graph), testing::Contains("zero"));
}

TEST(Passes, ListTheirNamesWhenAskedForAnother) {
  Graph graph = flatten_by_shape(2);
  const std::string error = error_of([&] { run_passes(graph, {.off = {"dead_cod"}}); });
  EXPECT_THAT(error, HasSubstr("no pass 'dead_cod', only constant_folding, "));
  EXPECT_EQ(graph.nodes.size(), 4U);
}

TEST(Passes, RefuseBrokenGraphs) {
  Graph graph = flatten_by_shape(2);
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_THAT(error_of([&] { run_passes(graph); }), HasSubstr("before anything makes it"));
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
