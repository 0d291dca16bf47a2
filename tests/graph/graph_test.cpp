#include "tessera/graph/graph.h"

#include "tessera/core/error.h"
#include "tests/graph/flow_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// sum = x + c; y = relu(sum)
struct Small {
  Graph graph;
  ValueId x, c, sum, y;

  Small() {
    graph.name = "small";
    x = graph.add_input("x", TensorType(ElementType::float32, Shape{2}));
    c = graph.add_constant("c", floats({2}, {1, 2}));
    sum = graph.add("sum", Binary{Binary::Kind::add}, {x, c});
    y = graph.add("y", Unary{Unary::Kind::relu}, {sum});
    graph.outputs = {y};
  }
};

void expect_refused(const Graph& graph, const std::string& part) {
  try {
    verify(graph);
    FAIL() << "accepted; wanted a refusal with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::internal);
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(Verify, AcceptsAGoodGraph) { EXPECT_NO_THROW(verify(Small().graph)); }

TEST(Verify, AcceptsAnEmptyGraph) { EXPECT_NO_THROW(verify(Graph{})); }

TEST(Verify, AcceptsInputsAndOutputsThatAreLeftOut) {
  Small s;
  s.graph.nodes[0].inputs.push_back(kNoValue);
  s.graph.nodes[0].outputs.push_back(kNoValue);
  EXPECT_NO_THROW(verify(s.graph));
}

TEST(Verify, AcceptsOutputsThatAreInputsOrConstants) {
  Small s;
  s.graph.outputs = {s.x, s.c, s.y, s.y};
  EXPECT_NO_THROW(verify(s.graph));
}

TEST(Verify, RefusesAConstantOfAnotherShapeThanItsType) {
  Small s;
  s.graph.value(s.c).type = TensorType(ElementType::float32, Shape{3});
  expect_refused(s.graph, "constant 'c' is [2] float32, but its type says float32[3]");
}

TEST(Verify, RefusesAConstantOfAnotherElementTypeThanItsType) {
  Small s;
  s.graph.value(s.c).type = TensorType(ElementType::int32, Shape{2});
  expect_refused(s.graph, "its type says int32[2]");
}

TEST(Verify, RefusesAnInputOutOfRange) {
  Small s;
  s.graph.inputs.push_back(99);
  expect_refused(s.graph, "graph input 99");
}

TEST(Verify, RefusesAnInputThatIsLeftOut) {
  Small s;
  s.graph.inputs.push_back(kNoValue);
  expect_refused(s.graph, "graph input -1");
}

TEST(Verify, RefusesAnInputGivenTwice) {
  Small s;
  s.graph.inputs.push_back(s.x);
  expect_refused(s.graph, "given twice");
}

TEST(Verify, RefusesAnInputThatIsAConstant) {
  Small s;
  s.graph.inputs.push_back(s.c);
  expect_refused(s.graph, "given twice");
}

TEST(Verify, RefusesANodeThatReadsAValueThatIsNotThere) {
  Small s;
  s.graph.nodes[1].inputs[0] = 4;
  expect_refused(s.graph, "node 'y' reads value 4, there are 4");
  s.graph.nodes[1].inputs[0] = -2;
  expect_refused(s.graph, "node 'y' reads value -2");
}

TEST(Verify, RefusesNodesInTheWrongOrder) {
  Small s;
  std::swap(s.graph.nodes[0], s.graph.nodes[1]);
  expect_refused(s.graph, "node 'y' reads 'sum' before anything makes it");
}

TEST(Verify, RefusesANodeThatReadsItsOwnOutput) {
  Small s;
  s.graph.nodes[1].inputs[0] = s.y;
  expect_refused(s.graph, "node 'y' reads 'y' before anything makes it");
}

TEST(Verify, RefusesANodeThatReadsWhatNothingMakes) {
  Small s;
  s.graph.nodes[0].inputs[1] = s.graph.add_value("loose");
  expect_refused(s.graph, "node 'sum' reads 'loose' before anything makes it");
}

TEST(Verify, RefusesANodeThatMakesAValueThatIsNotThere) {
  Small s;
  s.graph.nodes[1].outputs[0] = 4;
  expect_refused(s.graph, "node 'y' makes value 4, there are 4");
  s.graph.nodes[1].outputs[0] = -7;
  expect_refused(s.graph, "node 'y' makes value -7");
}

TEST(Verify, RefusesAValueMadeByTwoNodes) {
  Small s;
  s.graph.nodes[1].outputs[0] = s.sum;
  expect_refused(s.graph, "'sum' is made twice, the second time by node 'y'");
}

TEST(Verify, RefusesAValueMadeTwiceByOneNode) {
  Small s;
  s.graph.nodes[1].outputs.push_back(s.y);
  expect_refused(s.graph, "'y' is made twice");
}

TEST(Verify, RefusesANodeThatMakesAGraphInput) {
  Small s;
  s.graph.nodes[1].outputs[0] = s.x;
  expect_refused(s.graph, "'x' is made twice");
}

TEST(Verify, RefusesANodeThatMakesAConstant) {
  Small s;
  s.graph.nodes[1].outputs[0] = s.c;
  expect_refused(s.graph, "'c' is made twice");
}

TEST(Verify, RefusesAnOutputOutOfRange) {
  Small s;
  s.graph.outputs.push_back(4);
  expect_refused(s.graph, "graph output 4");
  s.graph.outputs.back() = kNoValue;
  expect_refused(s.graph, "graph output -1");
}

TEST(Verify, RefusesAnOutputThatNothingMakes) {
  Small s;
  s.graph.outputs.push_back(s.graph.add_value("loose"));
  expect_refused(s.graph, "is made by nothing");
}

TEST(Graph, AddingANodeInfersAndNamesItsOutputs) {
  Small s;
  EXPECT_EQ(s.graph.value(s.y).type.to_string(), "float32[2]");
  EXPECT_EQ(s.graph.value(s.y).name, "y");
  const ValueId x = s.graph.add_input("sequence", TensorType(ElementType::float32, Shape{3, 1, 2}));
  const ValueId w = s.graph.add_constant("w", Array(ElementType::float32, Shape{1, 16, 2}));
  const ValueId r = s.graph.add_constant("r", Array(ElementType::float32, Shape{1, 16, 4}));
  const std::vector<ValueId> out = s.graph.add_node("lstm", Recurrent{}, {x, w, r}, 3);
  EXPECT_EQ(s.graph.value(out[0]).name, "lstm");
  EXPECT_EQ(s.graph.value(out[2]).name, "lstm:2");
  EXPECT_EQ(s.graph.value(out[2]).type.to_string(), "float32[1, 1, 4]");
}

TEST(Graph, AddingANodeThatDoesNotFitChangesNothing) {
  Small s;
  const std::size_t values = s.graph.values.size(), nodes = s.graph.nodes.size();
  const ValueId odd = s.graph.add_constant("odd", floats({3}, {1, 2, 3}));
  EXPECT_THROW(s.graph.add("bad", Binary{Binary::Kind::add}, {s.x, odd}), Error);
  EXPECT_EQ(s.graph.values.size(), values + 1);
  EXPECT_EQ(s.graph.nodes.size(), nodes);
}

TEST(Graph, PositionsByNameListTheNamesThereAre) {
  Small s;
  s.graph.add_input("z", TensorType(ElementType::float32, Shape{2}));
  EXPECT_EQ(s.graph.input_position("z"), 1u);
  EXPECT_EQ(s.graph.output_position("y"), 0u);
  try {
    s.graph.input_position("y");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.what(), HasSubstr("no input 'y', only x, z"));
  }
  EXPECT_THROW(s.graph.output_position("x"), Error);
}

TEST(InferTypes, CarriesAnInputsNewShapeThroughTheGraph) {
  Small s;
  s.graph.value(s.x).type = TensorType(ElementType::float32, Shape{5, 2});
  infer_types(s.graph);
  EXPECT_EQ(s.graph.value(s.y).type.to_string(), "float32[5, 2]");
  s.graph.value(s.x).type = TensorType(ElementType::float32, std::vector<std::int64_t>{TensorType::kUnknown, 2});
  infer_types(s.graph);
  EXPECT_EQ(s.graph.value(s.y).type.to_string(), "float32[?, 2]");
}

TEST(InferTypes, NamesTheNodeInItsError) {
  Small s;
  s.graph.value(s.x).type = TensorType(ElementType::float32, Shape{3});
  try {
    infer_types(s.graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("while inferring node 'sum' (Binary)"), HasSubstr("3 against 2")));
  }
}

TEST(InferTypes, RefusesMoreOutputsThanTheOperatorHas) {
  Small s;
  s.graph.nodes[1].outputs.push_back(s.graph.add_value("second"));
  try {
    infer_types(s.graph);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("node 'y' (Unary) has 1 outputs, 2 were asked for"));
  }
}

}  // namespace
}  // namespace tessera
