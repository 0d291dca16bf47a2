// Networks of which the host computes a part: results that nobody reads, values that are empty, shapes that are known
// late, names that passes have made twice.

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tessera/targets/tensix/plan/plan_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tessera::tensix {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

TensorType f32(Shape shape) { return {ElementType::float32, std::move(shape)}; }

LoweredGraph lowered(const Graph& graph) { return lower(graph, {.host_fallback = true}); }

CardPlan partial_plan(const LoweredGraph& network) {
  CardPlanRequest request;
  request.partial = true;
  return plan_network(network, load_machine("wormhole_n150"), request);
}

std::vector<Array> simulated(const LoweredGraph& network, const std::vector<Array>& inputs) {
  return simulate(Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 32768}), network, inputs, {}).outputs;
}

TEST(PartialPlan, LeavesOutResultsThatNobodyAskedFor) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 6}));
  Split split;
  split.outputs = 2;
  const auto parts = graph.add_node("parts", split, {x}, 2);
  graph.nodes.back().outputs[0] = kNoValue;
  graph.outputs = {parts[1]};
  const LoweredGraph network = lowered(graph);
  ASSERT_THAT(network.nodes, SizeIs(1));
  EXPECT_EQ(network.nodes[0].outputs, network.graph.outputs);
  EXPECT_THAT(network_digest(network), SizeIs(16));
  const CardPlan plan = partial_plan(network);
  ASSERT_THAT(plan.steps, SizeIs(1));
  EXPECT_EQ(plan.steps[0].makes, graph.value(parts[1]).name);
}

TEST(PartialPlan, KeepsEmptyValuesOnTheHost) {
  for (const Shape& shape : {Shape{2, 0, 3}, Shape{0, 4}, Shape{3, 2, 0}}) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32(shape));
    Reduce reduce;
    reduce.kind = Reduce::Kind::sum;
    reduce.keep_dims = true;
    graph.outputs = {graph.add("sum", reduce, {x})};
    const LoweredGraph network = lowered(graph);
    EXPECT_THAT(partial_plan(network).steps, SizeIs(1)) << shape.to_string();
    const std::vector<Array> inputs{Array(ElementType::float32, shape)};
    EXPECT_EQ(simulated(network, inputs), evaluate(graph, inputs)) << shape.to_string();
  }
}

TEST(PartialPlan, RefusesShapesThatAreKnownOnlyWhenItRuns) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  graph.outputs = {graph.add("where", NonZero{}, {x})};
  const LoweredGraph network = lowered(graph);
  try {
    partial_plan(network);
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("the shape of 'where'"), HasSubstr("is known only when it runs")));
  }
  const std::vector<float> values{0, 1, 0, 0, 0, 1};
  const std::vector<Array> inputs{Array::of<float>(Shape{2, 3}, values)};
  EXPECT_EQ(simulated(network, inputs), evaluate(graph, inputs));
}

TEST(PartialPlan, GivesEveryValueAndOperatorANameOfItsOwn) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 4, 4}));
  const ValueId a = graph.add("same", Unary{Unary::Kind::relu}, {x});
  const ValueId b = graph.add("same", Transpose{{2, 1, 0}}, {a});
  const ValueId c = graph.add("same", Transpose{{0, 2, 1}}, {b});
  graph.outputs = {graph.add("same", Unary{Unary::Kind::neg}, {c})};
  const LoweredGraph network = lowered(graph);
  std::set<std::string> names;
  for (const Value& value : network.graph.values) EXPECT_TRUE(names.insert(value.name).second) << value.name;
  EXPECT_EQ(network.graph.value(network.graph.outputs[0]).name, "same");
  names.clear();
  for (const LoweredNode& node : network.nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
  EXPECT_EQ(partial_plan(network).steps.size(), network.nodes.size());
}

}  // namespace
}  // namespace tessera::tensix
