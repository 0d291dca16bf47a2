#include "tessera/graph/digest.h"

#include "tessera/graph/graph.h"
#include "tessera/graph/zoo/zoo.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tessera {
namespace {

Graph small(float weight = 2, std::string_view output = "y", Op op = Binary{Binary::Kind::add}, std::int64_t rows = 3) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{rows, 2}));
  const ValueId w = graph.add_constant("w", Array::of<float>(Shape{2}, std::vector<float>{1, weight}));
  graph.outputs = graph.add_node(std::string(output), std::move(op), {x, w});
  return graph;
}

TEST(Digest, SaysWhichNetworkItIs) {
  const std::string digest = network_digest(small());
  EXPECT_EQ(digest.size(), 16U);
  EXPECT_EQ(network_digest(small()), digest);
  EXPECT_EQ(network_digest(small(5)), digest) << "weights are not part of it";
  EXPECT_EQ(network_digest(small(2, "y", Binary{Binary::Kind::add}, 7)), digest) << "nor is the batch";
  EXPECT_NE(network_digest(small(2, "z")), digest);
  EXPECT_NE(network_digest(small(2, "y", MatMul{})), digest);
  EXPECT_EQ(network_digest(make_zoo_model("resnet18", 1)), network_digest(make_zoo_model("resnet18", 4)));
  EXPECT_NE(network_digest(make_zoo_model("resnet18", 1)), network_digest(make_zoo_model("resnet50", 1)));
}

TEST(Digest, SaysWhichWeightsItHas) {
  EXPECT_EQ(weights_digest(small()), weights_digest(small(2, "z")));
  EXPECT_NE(weights_digest(small()), weights_digest(small(3)));
}

TEST(Digest, SeesIntoBodies) {
  const auto with = [](float weight, std::string_view name) {
    Graph graph;
    const ValueId c = graph.add_input("c", TensorType(ElementType::boolean, Shape{}));
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{3, 2}));
    If choice;
    choice.captures = 1;
    choice.then_branch = std::make_shared<const Graph>(small(weight, name));
    choice.else_branch = std::make_shared<const Graph>(small());
    graph.outputs = graph.add_node("y", std::move(choice), {c, x});
    return graph;
  };
  EXPECT_NE(weights_digest(with(2, "y")), weights_digest(with(3, "y")));
  EXPECT_NE(network_digest(with(2, "y")), network_digest(with(2, "z")));
}

}  // namespace
}  // namespace tessera
