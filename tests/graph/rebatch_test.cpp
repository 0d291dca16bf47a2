#include "tessera/graph/rebatch.h"

#include "tessera/graph/evaluate.h"
#include "tessera/graph/graph.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::HasSubstr;

// [1, 2, 3] -> reshape to `target` -> add itself.
Graph reshaped(std::vector<std::int64_t> target) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 2, 3}));
  const ValueId to =
      graph.add_constant("to", Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(target.size())}, target));
  const ValueId flat = graph.add_node("flat", Reshape{}, {x, to})[0];
  graph.outputs = graph.add_node("y", Binary{Binary::Kind::add}, {flat, flat});
  infer_types(graph);
  return graph;
}

TEST(Rebatch, ChangesInputsAndTargetsOfReshape) {
  for (const auto& target : {std::vector<std::int64_t>{1, -1}, {1, 6}, {-1, 6}, {0, 6}}) {
    Graph graph = reshaped(target);
    rebatch(graph, 4);
    verify(graph);
    EXPECT_EQ(graph.value(graph.outputs[0]).type.shape(), (Shape{4, 6}));
    Array x(ElementType::float32, Shape{4, 2, 3});
    for (std::size_t i = 0; i < 24; ++i) x.as<float>()[i] = static_cast<float>(i);
    const std::vector<Array> y = evaluate(graph, {x});
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(y[0].as<float>()[i], 2 * static_cast<float>(i));
  }
}

TEST(Rebatch, WhatIsMadeForTheOldBatchIsRefusedAndNothingChanges) {
  Graph graph = reshaped({6});  // the batch is lost: the output does not begin with it, so nothing is promised
  rebatch(graph, 1);
  Graph whole = reshaped({1, 6, 1});
  whole.value(whole.nodes[0].inputs[1]).constant =
      std::make_shared<const Array>(Array::of<std::int64_t>(Shape{3}, std::vector<std::int64_t>{-1, 6, 1}));
  rebatch(whole, 2);
  EXPECT_EQ(whole.value(whole.outputs[0]).type.shape(), (Shape{2, 6, 1}));

  // A constant of the old batch joins every sample.
  Graph joined;
  const ValueId x = joined.add_input("x", TensorType(ElementType::float32, Shape{1, 3}));
  const ValueId w = joined.add_constant("w", Array(ElementType::float32, Shape{1, 2}));
  joined.outputs = joined.add_node("y", Concat{1}, {x, w});
  infer_types(joined);
  EXPECT_THAT(error_of([&] { rebatch(joined, 5); }), HasSubstr("a batch of 5 in place of 1"));
  EXPECT_EQ(joined.value(x).type.shape(), (Shape{1, 3}));
}

TEST(Rebatch, InputsThatBeginDifferentlyAreRefused) {
  Graph graph;
  const ValueId a = graph.add_input("a", TensorType(ElementType::float32, Shape{1, 3}));
  const ValueId b = graph.add_input("b", TensorType(ElementType::float32, Shape{3, 3}));
  graph.outputs = graph.add_node("y", MatMul{}, {a, b});
  EXPECT_THAT(error_of([&] { rebatch(graph, 2); }), HasSubstr("which of them is the batch is not known"));
}

}  // namespace
}  // namespace tessera
