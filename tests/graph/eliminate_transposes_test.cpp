#include "pass_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::ElementsAre;
constexpr std::int64_t kUnknown = TensorType::kUnknown;
const Transpose kToLast{{0, 2, 3, 1}}, kToFirst{{0, 3, 1, 2}};

struct Net {
  Graph graph;
  PassInputs random{91};
  Shape shape;
  ValueId x;

  explicit Net(Shape s = Shape{2, 4, 5, 6})
      : shape(std::move(s)), x(graph.add_input("x", TensorType(ElementType::float32, shape))) {}

  template <class X>
  ValueId add(X op, ValueId a) {
    return graph.add("n", op, {a});
  }
  template <class X>
  ValueId add(X op, ValueId a, ValueId b) {
    return graph.add("n", op, {a, b});
  }
  ValueId constant(Shape s) { return graph.add_constant("c", random.floating(std::move(s))); }
  ValueId ints(std::initializer_list<std::int64_t> values) { return graph.add_constant("ints", int64s(values)); }
  ValueId relu(ValueId a) { return add(Unary{Unary::Kind::relu}, a); }
  std::string after(ValueId y) {
    graph.outputs = {y};
    result = after_pass(graph, eliminate_transposes, {random.floating(shape)});
    return node_list(result);
  }
  void expect_as_it_was(ValueId y) {
    graph.outputs = {y};
    expect_untouched(graph, eliminate_transposes, {random.floating(shape)});
  }
  Graph result;
};

TEST(EliminateTransposes, MergesAndCancels) {
  Net merged;
  EXPECT_EQ(merged.after(merged.add(kToLast, merged.add(kToLast, merged.x))), "Transpose");
  EXPECT_THAT(std::get<Transpose>(merged.result.nodes[0].op).perm, ElementsAre(0, 3, 1, 2));
  Net reversed;
  EXPECT_EQ(reversed.after(reversed.relu(reversed.add(Transpose{}, reversed.add(Transpose{}, reversed.x)))), "Unary");
  Net inverse;
  EXPECT_EQ(inverse.after(inverse.relu(inverse.add(kToFirst, inverse.add(kToLast, inverse.x)))), "Unary");
  Net identity;
  EXPECT_EQ(identity.after(identity.relu(identity.add(Transpose{{0, 1, 2, 3}}, identity.x))), "Unary");
  Net shared;  // the first has another reader
  const ValueId t = shared.add(kToLast, shared.x);
  shared.graph.outputs = {shared.relu(shared.add(kToFirst, t)), t};
  EXPECT_EQ(node_list(after_pass(shared.graph, eliminate_transposes, {shared.random.floating(shared.shape)})),
            "Transpose Unary");
}

TEST(EliminateTransposes, MakesMovesOfSingleElementsReshapes) {
  Net net(Shape{2, 7, 1, 1});
  EXPECT_EQ(net.after(net.add(kToLast, net.x)), "Reshape");
  Net moved(Shape{2, 1, 5, 6});
  EXPECT_EQ(moved.after(moved.add(kToLast, moved.x)), "Reshape");
  Net real;
  real.expect_as_it_was(real.add(kToLast, real.x));
}

TEST(EliminateTransposes, MovesBehindElementwiseOperatorsUntilTheyMeet) {
  Net net;
  ValueId y = net.add(kToLast, net.x);
  y = net.relu(y);
  y = net.graph.add("clip", Clip{}, {y, net.graph.add_constant("low", Array::scalar(0.1f))});
  y = net.add(Binary{Binary::Kind::mul}, y, net.constant({4}));           // for each channel
  y = net.add(Binary{Binary::Kind::sub}, net.constant({5, 1, 1}), y);     // for each row
  y = net.add(Binary{Binary::Kind::add}, y, net.constant({2, 5, 6, 4}));  // for each element
  y = net.add(Binary{Binary::Kind::div}, y, net.constant({1, 1, 1, 1}));
  y = net.add(Unary{Unary::Kind::sigmoid}, y);
  EXPECT_EQ(net.after(net.add(kToFirst, y)), "Unary Clip Binary Binary Binary Binary Unary");
}

// One for each of two channels: the constant has to turn with the value. One for all stays as it is.
TEST(EliminateTransposes, TurnsConstantsOfTwoElementsAndLeavesThoseOfOne) {
  for (const Shape& shape : {Shape{2}, Shape{1}}) {
    Net net(Shape{3, 2, 5, 6});
    const ValueId y = net.add(Binary{Binary::Kind::mul}, net.add(kToLast, net.x), net.constant(shape));
    EXPECT_EQ(net.after(net.add(kToFirst, y)), "Binary") << shape.to_string();
  }
}

TEST(EliminateTransposes, FreesTheResidualBlocksOfAnotherLayout) {
  Net net;
  const auto conv = [&](ValueId from) {
    Conv op;
    op.window.pads = {1, 1, 1, 1};
    const ValueId first = net.add(kToFirst, from);
    return net.add(kToLast, net.add(op, first, net.constant({4, 4, 3, 3})));
  };
  ValueId y = net.relu(net.add(Binary{Binary::Kind::add}, conv(net.add(kToLast, net.x)), net.constant({4})));
  for (int i = 0; i < 2; ++i) {
    const ValueId inner = net.relu(conv(y));
    y = net.relu(net.add(Binary{Binary::Kind::add}, conv(inner), y));
  }
  const Reduce mean{.kind = Reduce::Kind::mean, .axes = {1, 2}, .keep_dims = false};
  EXPECT_EQ(net.after(net.add(mean, y)),
            "Conv Binary Unary Conv Unary Conv Binary Unary Conv Unary Conv Binary Unary Reduce");
  EXPECT_THAT(std::get<Reduce>(net.result.nodes.back().op).axes, ElementsAre(2, 3));
}

TEST(EliminateTransposes, MovesBehindOperatorsAlongAxes) {
  Net concat;
  EXPECT_EQ(concat.after(concat.graph.add("c", Concat{-1},
                                          {concat.add(kToLast, concat.x), concat.add(kToLast, concat.relu(concat.x))})),
            "Unary Concat Transpose");
  Net pad;
  EXPECT_EQ(pad.after(pad.add(kToFirst, pad.add(Pad{}, pad.add(kToLast, pad.x), pad.ints({0, 1, 2, 0, 0, 3, 4, 1})))),
            "Pad");
  Net softmax;
  EXPECT_EQ(softmax.after(softmax.add(kToFirst, softmax.add(Softmax{}, softmax.add(kToLast, softmax.x)))), "Softmax");
  Net mean;
  EXPECT_EQ(mean.after(mean.add(kToFirst, mean.add(Reduce{Reduce::Kind::max, {1}}, mean.add(kToLast, mean.x)))),
            "Reduce");
  Net dropped;
  const Reduce sum{.kind = Reduce::Kind::sum, .axes = {1}, .keep_dims = false};
  EXPECT_EQ(dropped.after(dropped.add(sum, dropped.add(kToLast, dropped.x))), "Reduce Transpose");
}

TEST(EliminateTransposes, LeavesOperandsThatAreLaidOutDifferently) {
  Net net(Shape{2, 4, 4, 4});
  const ValueId t = net.add(kToLast, net.x);
  net.expect_as_it_was(net.add(Binary{Binary::Kind::add}, t, net.x));
  Net both(Shape{2, 4, 4, 4});
  both.expect_as_it_was(both.add(Binary{Binary::Kind::mul}, both.add(kToLast, both.x), both.add(kToFirst, both.x)));
  Net wider(Shape{2, 4, 5, 6});
  wider.expect_as_it_was(
      wider.add(Binary{Binary::Kind::mul}, wider.add(kToLast, wider.x), wider.constant({3, 1, 1, 1, 1})));
}

TEST(EliminateTransposes, MergesReshapes) {
  Net pair;
  EXPECT_EQ(pair.after(pair.add(Reshape{}, pair.add(Reshape{}, pair.x, pair.ints({8, 30})), pair.ints({2, -1, 3}))),
            "Reshape");
  Net back;
  EXPECT_EQ(back.after(back.relu(back.add(Reshape{}, back.add(Flatten{}, back.x), back.ints({2, 4, 5, 6})))), "Unary");
  Net same;
  EXPECT_EQ(same.after(same.relu(same.add(Reshape{}, same.x, same.ints({0, 4, -1, 6})))), "Unary");
  Net squeezed;
  EXPECT_EQ(squeezed.after(squeezed.relu(squeezed.add(Squeeze{{1}}, squeezed.add(Unsqueeze{{1}}, squeezed.x)))),
            "Unary");
  Net alone;
  alone.expect_as_it_was(alone.add(Flatten{}, alone.x));
}

TEST(EliminateTransposes, MergesReshapesOfUnknownBatches) {
  const auto after = [](auto&& make, std::vector<std::int64_t> dims = {kUnknown, 4, 5, 6}) {
    Graph graph;
    PassInputs random(92);
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, dims));
    graph.outputs = {graph.add("r", Unary{Unary::Kind::relu}, {make(graph, x)})};
    Graph copy = graph;
    eliminate_transposes(copy);
    infer_types(copy);
    expect_same_results(graph, copy, {random.floating({3, 4, 5, 6})});
    return node_list(copy);
  };
  const auto reshape = [](Graph& graph, ValueId x, std::initializer_list<std::int64_t> target) {
    return graph.add("s", Reshape{}, {x, graph.add_constant("t", int64s(target))});
  };
  EXPECT_EQ(after([&](Graph& g, ValueId x) { return reshape(g, reshape(g, x, {0, 20, 6}), {0, 4, 30}); }),
            "Reshape Unary");
  EXPECT_EQ(after([&](Graph& g, ValueId x) { return reshape(g, g.add("f", Flatten{}, {x}), {-1, 4, 5, 6}); }), "Unary");
  const std::vector<std::int64_t> two{kUnknown, kUnknown, 5, 6};
  EXPECT_EQ(after([&](Graph& g, ValueId x) { return reshape(g, x, {0, 0, 5, 6}); }, two), "Unary");
  EXPECT_EQ(after([&](Graph& g, ValueId x) { return reshape(g, reshape(g, x, {0, 0, 30}), {0, 0, 6, 5}); }, two),
            "Reshape Unary");
  EXPECT_EQ(after([&](Graph& g, ValueId x) { return reshape(g, reshape(g, x, {-1, 0, 6}), {0, 3, -1}); }, two),
            "Reshape Reshape Unary")
      << "the rows that the second keeps are the first's, not the input's";
}

}  // namespace
}  // namespace tessera
