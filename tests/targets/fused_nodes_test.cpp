#include "tessera/target/fused_nodes.h"

#include "tessera/graph/graph.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using Kind = NodeFate::Kind;

// x -> a -> b -> c, and k of constants alone.
Graph chain() {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2}));
  const ValueId w = graph.add_constant("w", Array(ElementType::float32, Shape{2}));
  const ValueId k = graph.add_node("k", Unary{Unary::Kind::relu}, {w})[0];
  const ValueId a = graph.add_node("a", Binary{Binary::Kind::add}, {x, k})[0];
  const ValueId b = graph.add_node("b", Unary{Unary::Kind::relu}, {a})[0];
  graph.outputs = graph.add_node("c", Unary{Unary::Kind::tanh}, {b});
  return graph;
}

TEST(FusedNodes, APartIsOfTheNearestStep) {
  const Graph graph = chain();
  EXPECT_EQ(fate_of(graph, {"a", "c"}, "a").kind, Kind::step);
  const NodeFate b = fate_of(graph, {"a", "c"}, "b");
  EXPECT_EQ(b.kind, Kind::part);
  EXPECT_EQ(b.step, "a");
  EXPECT_EQ(fate_of(graph, {"c"}, "b").step, "c");
  EXPECT_EQ(fate_of(graph, {"c"}, "a").step, "c");
}

TEST(FusedNodes, WhatTakesNoTimeIsSaidToTakeNone) {
  const Graph graph = chain();
  EXPECT_EQ(fate_of(graph, {"a", "b", "c"}, "k").kind, Kind::ahead);
  EXPECT_EQ(fate_of(graph, {}, "b").kind, Kind::gone);
  EXPECT_EQ(fate_of(graph, {"a"}, "nope").kind, Kind::unknown);
}

}  // namespace
}  // namespace tessera
