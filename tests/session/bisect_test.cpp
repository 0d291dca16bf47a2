#include "tessera/session/bisect.h"

#include "tessera/graph/evaluate.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

Array floats(std::vector<float> values) {
  return Array::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// x -> a -> b -> c, and what each should be, wrong from one of them on.
struct Chain {
  Graph graph;
  std::vector<Array> inputs{floats({1, -2, 3, -4})};
  std::map<std::string, Array> expected;

  explicit Chain(const std::string& wrong_from) {
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{4}));
    const ValueId a = graph.add("a", Unary{Unary::Kind::abs}, {x});
    const ValueId b = graph.add("b", Unary{Unary::Kind::sqrt}, {a});
    graph.outputs = {graph.add("c", Binary{Binary::Kind::mul}, {b, a})};
    bool wrong = false;
    evaluate(graph, inputs, [&](const Node& node, const std::vector<const Array*>& outputs) {
      Array value = *outputs[0];
      wrong = wrong || node.name == wrong_from;
      if (wrong) value.as<float>()[2] += 1;
      expected.emplace(node.name, std::move(value));
    });
  }
};

TEST(Bisect, FindsTheFirstValueThatDiffersAndWhatItReads) {
  const Chain chain("b");
  const Bisection found = bisect(chain.graph, chain.inputs, {}, chain.expected, 1e-4);
  ASSERT_TRUE(found.first.has_value());
  EXPECT_FALSE(found.fused);
  EXPECT_EQ(found.compared, 3);
  EXPECT_EQ(found.first->value, "b");
  EXPECT_EQ(found.first->node, "b");
  EXPECT_EQ(found.first->difference.worst, 2);
  EXPECT_NE(found.first->kernel, "");
  ASSERT_EQ(found.first->inputs.size(), 1u);
  EXPECT_EQ(found.first->inputs[0].value, "a");
  EXPECT_EQ(found.first->inputs[0].role, "made earlier");
  ASSERT_TRUE(found.first->inputs[0].difference.has_value());
  EXPECT_EQ(found.first->inputs[0].difference->max_abs, 0);
}

// A session would make one step of both: then there is no first of them to compare.
TEST(Bisect, LooksBetweenOperatorsThatWouldBeFused) {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 1, 2, 2}));
  const ValueId w = graph.add_constant("w", Array::of<float>(Shape{1, 1, 1, 1}, std::vector<float>{2}));
  const ValueId y = graph.add("conv", Conv{}, {x, w});
  graph.outputs = {graph.add("relu", Unary{Unary::Kind::relu}, {y})};
  const std::vector<Array> inputs{Array::of<float>(Shape{1, 1, 2, 2}, std::vector<float>{1, -2, 3, -4})};
  std::map<std::string, Array> expected;
  evaluate(graph, inputs, [&](const Node& node, const std::vector<const Array*>& outputs) {
    Array value = *outputs[0];
    value.as<float>()[2] += 1;
    expected.emplace(node.name, std::move(value));
  });
  const Bisection found = bisect(graph, inputs, {}, expected, 1e-4);
  ASSERT_TRUE(found.first.has_value());
  EXPECT_EQ(found.first->node, "conv");
  EXPECT_EQ(found.compared, 2);
  EXPECT_EQ(found.skipped, 0);
}

TEST(Bisect, FindsNothingWhereAllAgree) {
  const Chain chain("");
  const Bisection found = bisect(chain.graph, chain.inputs, {}, chain.expected, 1e-4);
  EXPECT_FALSE(found.first.has_value());
  EXPECT_EQ(found.compared, 3);
  EXPECT_EQ(found.skipped, 0);
}

TEST(Bisect, CountsValuesThatTheOtherSideLacks) {
  Chain chain("c");
  chain.expected.erase("a");
  const Bisection found = bisect(chain.graph, chain.inputs, {}, chain.expected, 1e-4);
  ASSERT_TRUE(found.first.has_value());
  EXPECT_EQ(found.first->value, "c");
  EXPECT_EQ(found.skipped, 1);
  ASSERT_EQ(found.first->inputs.size(), 2u);
  EXPECT_FALSE(found.first->inputs[1].difference.has_value());
}

}  // namespace
}  // namespace tessera
