#include "tessera/graph/evaluate.h"

#include "tessera/core/error.h"
#include "tests/graph/flow_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace tessera {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Binary kAdd{Binary::Kind::add};
constexpr Unary kNeg{Unary::Kind::neg};

TensorType f32(Shape shape) { return {ElementType::float32, std::move(shape)}; }

std::string refusal(const Graph& graph, const std::vector<Array>& inputs) {
  try {
    evaluate(graph, inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Evaluate, RunsNodesInTheirOrderAndShowsEachToTheObserver) {
  Graph g;
  const ValueId x = g.add_input("x", f32({2})), c = g.add_constant("c", floats({2}, {10, 20}));
  const ValueId sum = g.add("sum", kAdd, {x, c}), neg = g.add("neg", kNeg, {sum});
  g.outputs = {neg};
  std::vector<std::string> seen;
  const std::vector<Array> out =
      evaluate(g, {floats({2}, {1, 2})}, [&](const Node& node, const std::vector<const Array*>& made) {
        ASSERT_EQ(made.size(), 1u);
        seen.push_back(fmt::format("{} {}", node.name, made[0]->as<float>()[0]));
      });
  EXPECT_THAT(seen, ElementsAre("sum 11", "neg -11"));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0], floats({2}, {-11, -22}));
}

TEST(Evaluate, OutputsComeInTheGraphsOrderAndMayBeInputsConstantsOrRepeated) {
  Graph g;
  const ValueId x = g.add_input("x", f32({1})), c = g.add_constant("c", floats({1}, {7}));
  const ValueId a = g.add("a", kNeg, {x}), b = g.add("b", kAdd, {a, c});
  g.outputs = {b, x, a, c, b};
  const std::vector<Array> out = evaluate(g, {floats({1}, {3})});
  std::vector<float> values;
  for (const Array& array : out) values.push_back(array.as<float>()[0]);
  EXPECT_THAT(values, ElementsAre(4, 3, -3, 7, 4));
}

TEST(Evaluate, AValueUsedTwiceByOneNodeAndLaterAgainLivesUntilItsLastUse) {
  Graph g;
  const ValueId x = g.add_input("x", f32({1})), a = g.add("a", kNeg, {x});
  const ValueId twice = g.add("twice", kAdd, {a, a}), b = g.add("b", kNeg, {twice});
  g.outputs = {g.add("sum", kAdd, {b, a})};
  EXPECT_EQ(evaluate(g, {floats({1}, {1})})[0], floats({1}, {1}));
}

TEST(Evaluate, FreesValuesAfterTheirLastUse) {
  const Shape shape{1 << 20};
  Graph g;
  ValueId at = g.add_input("x", f32(shape));
  for (int i = 0; i < 12; ++i) at = g.add(fmt::format("neg {}", i), kNeg, {at});
  g.outputs = {at};
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();  // all zeros where the allocator is a sanitizer's
    return info.uordblks + info.hblkhd;
  };
  const std::vector<Array> inputs{Array(ElementType::float32, shape)};
  const std::size_t before = allocated();
  std::size_t most = before;
  evaluate(g, inputs, [&](const Node&, const auto&) { most = std::max(most, allocated()); });
  EXPECT_LE(most - before, std::size_t{3} * 4 * (1 << 20)) << "of 12 values of 4 MiB two live at a time";
}

TEST(Evaluate, InputsAndOutputsMayBeLeftOut) {
  Graph g;
  const ValueId x = g.add_input("x", f32({2, 1, 1})), w = g.add_constant("w", floats({1, 1, 1}, {1}));
  const ValueId h = g.add_constant("h", floats({1, 1, 1}, {100}));
  const std::vector<ValueId> made = g.add_node(
      "rnn", Recurrent{.kind = Recurrent::Kind::rnn, .activations = {"Affine"}}, {x, w, w, kNoValue, kNoValue, h}, 2);
  g.nodes.back().outputs[0] = kNoValue;
  g.outputs = {made[1]};
  std::vector<bool> seen;
  const std::vector<Array> out =
      evaluate(g, {floats({2, 1, 1}, {1, 2})}, [&](const Node&, const std::vector<const Array*>& arrays) {
        for (const Array* a : arrays) seen.push_back(a != nullptr);
      });
  EXPECT_THAT(seen, ElementsAre(false, true));
  EXPECT_EQ(out[0], floats({1, 1, 1}, {103}));
}

TEST(Evaluate, AcceptsAnyExtentWhereTheInputsIsUnknown) {
  Graph g;
  g.outputs = {
      g.add("neg", kNeg, {g.add_input("x", TensorType(ElementType::float32, std::vector<std::int64_t>{-1, 2}))})};
  EXPECT_EQ(evaluate(g, {floats({1, 2}, {1, 2})})[0], floats({1, 2}, {-1, -2}));
  EXPECT_EQ(evaluate(g, {Array(ElementType::float32, Shape{0, 2})})[0].shape(), (Shape{0, 2}));
  EXPECT_THAT(refusal(g, {floats({2, 1}, {1, 2})}), HasSubstr("input 'x' must be float32[?, 2], not [2, 1] float32"));
}

TEST(Evaluate, RefusesWrongInputsByTheirNames) {
  Graph g;
  const ValueId image = g.add_input("image", f32({2})), scale = g.add_input("scale", f32({2}));
  g.outputs = {g.add("sum", kAdd, {image, scale})};
  const Array good = floats({2}, {1, 2});
  EXPECT_THAT(refusal(g, {good}), HasSubstr("takes 2 inputs, 1 were given"));
  EXPECT_THAT(refusal(g, {good, good, good}), HasSubstr("takes 2 inputs, 3 were given"));
  EXPECT_THAT(refusal(g, {good, floats({1}, {1})}), HasSubstr("input 'scale' must be float32[2], not [1] float32"));
  EXPECT_THAT(refusal(g, {floats({1, 2}, {1, 2}), good}),
              HasSubstr("input 'image' must be float32[2], not [1, 2] float32"));
  EXPECT_THAT(refusal(g, {int64_array({2}, {1, 2}), good}),
              HasSubstr("input 'image' must be float32[2], not [2] int64"));
}

TEST(Evaluate, AFaultNamesTheNodeItCameFrom) {
  Graph g;
  const TensorType open(ElementType::float32, std::vector<std::int64_t>{-1});
  const ValueId a = g.add_input("a", open), b = g.add_input("b", open);
  g.outputs = {g.add("join", kAdd, {a, b})};
  EXPECT_THAT(refusal(g, {floats({2}, {1, 2}), floats({3}, {1, 2, 3})}),
              AllOf(HasSubstr("while running node 'join' (Binary)"), HasSubstr("2 against 3")));
}

TEST(Evaluate, LeavesTheGraphAndItsInputsAsTheyWere) {
  Graph g;
  const ValueId x = g.add_input("x", f32({1})), c = g.add_constant("c", floats({1}, {5}));
  g.outputs = {g.add("sum", kAdd, {x, c})};
  const std::vector<Array> inputs{floats({1}, {1})};
  EXPECT_EQ(evaluate(g, inputs), evaluate(g, inputs));
  EXPECT_EQ(inputs[0], floats({1}, {1}));
  EXPECT_EQ(*g.value(c).constant, floats({1}, {5}));
}

}  // namespace
}  // namespace tessera
