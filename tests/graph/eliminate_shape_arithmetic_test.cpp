#include "pass_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::ElementsAre;
constexpr std::int64_t kUnknown = TensorType::kUnknown;

struct Net {
  Graph graph;
  PassInputs random{81};
  ValueId x;

  explicit Net(std::vector<std::int64_t> dims = {kUnknown, 4, 6, 6})
      : x(graph.add_input("x", TensorType(ElementType::float32, std::move(dims)))) {}

  ValueId ints(std::initializer_list<std::int64_t> values) { return graph.add_constant("ints", int64s(values)); }
  ValueId index(std::int64_t i) { return graph.add_constant("index", Array::scalar(i)); }
  // shape(of)[i] as a list of one.
  ValueId extent(ValueId of, std::int64_t i) {
    const ValueId one = graph.add("one", Gather{0}, {graph.add("shape", ShapeOf{}, {of}), index(i)});
    return graph.add("list", Unsqueeze{{0}}, {one});
  }
  ValueId conv(ValueId from) {
    Conv op;
    op.window.pads = {1, 1, 1, 1};
    return graph.add("conv", op, {from, graph.add_constant("w", random.floating({4, 4, 3, 3}))});
  }
  Graph settled(ValueId y, Shape shape = Shape{3, 4, 6, 6}) {
    graph.outputs = {y};
    return after_pass(graph, eliminate_shape_arithmetic, {random.floating(std::move(shape))});
  }
  void expect_as_it_was(ValueId y, Shape shape = Shape{3, 4, 6, 6}) {
    graph.outputs = {y};
    expect_untouched(graph, eliminate_shape_arithmetic, {random.floating(std::move(shape))});
  }
};

std::vector<std::int64_t> target(const Graph& graph, std::size_t node = 0) {
  return graph.value(graph.nodes[node].inputs[1]).constant->to_int64();
}

TEST(EliminateShapeArithmetic, SettlesTheFlatteningOfABatch) {
  Net net;
  const ValueId wanted = net.graph.add("wanted", Concat{0}, {net.extent(net.x, 0), net.ints({-1})});
  const Graph after = net.settled(net.graph.add("y", Reshape{}, {net.x, wanted}));
  ASSERT_EQ(node_list(after), "Reshape");
  EXPECT_THAT(target(after), ElementsAre(0, -1));
  EXPECT_EQ(after.value(after.outputs[0]).type.to_string(), "float32[?, 144]");
}

TEST(EliminateShapeArithmetic, FollowsTheBatchThroughTheNetwork) {
  Net net;
  ValueId y = net.graph.add("r", Unary{Unary::Kind::relu}, {net.conv(net.x)});
  y = net.graph.add("p", GlobalPool{}, {y});
  const ValueId wanted = net.graph.add("wanted", Concat{0}, {net.extent(net.x, 0), net.extent(y, 1), net.ints({1})});
  const Graph after = net.settled(net.graph.add("y", Reshape{}, {y, wanted}));
  ASSERT_EQ(node_list(after), "Conv Unary GlobalPool Reshape");
  EXPECT_THAT(target(after, 3), ElementsAre(0, 4, 1));
}

// What a -1 stands for is the batch where the rest has as many elements before as after, and else it is not.
TEST(EliminateShapeArithmetic, FollowsTheBatchThroughAMinusOne) {
  const auto flattened_to = [](Net& net, std::int64_t columns) {
    const ValueId flat = net.graph.add("flat", Reshape{}, {net.x, net.ints({-1, columns})});
    const ValueId wanted = net.graph.add("wanted", Concat{0}, {net.extent(flat, 0), net.ints({-1})});
    return net.graph.add("y", Reshape{}, {net.x, wanted});
  };
  Net whole, half;
  const Graph after = whole.settled(flattened_to(whole, 144));
  EXPECT_THAT(target(after, after.nodes.size() - 1), ElementsAre(0, -1));
  half.expect_as_it_was(flattened_to(half, 72));
}

TEST(EliminateShapeArithmetic, PutsMinusOneWhereTheBatchMoves) {
  Net net;
  const ValueId wanted = net.graph.add("wanted", Concat{0}, {net.ints({4}), net.extent(net.x, 0), net.ints({36})});
  const Graph after = net.settled(net.graph.add("y", Reshape{}, {net.x, wanted}));
  EXPECT_THAT(target(after), ElementsAre(4, -1, 36));
}

TEST(EliminateShapeArithmetic, ComputesWithTheKnownPartsOfShapes) {
  Net net;
  const ValueId shape = net.graph.add("shape", ShapeOf{}, {net.x});
  const ValueId tail =
      net.graph.add("tail", Slice{}, {shape, net.ints({1}), net.ints({std::numeric_limits<std::int64_t>::max()})});
  const ValueId twice = net.graph.add("twice", Binary{Binary::Kind::mul}, {tail, net.ints({2, 1, 1})});
  const ValueId less = net.graph.add("less", Binary{Binary::Kind::sub}, {twice, net.ints({0, 3, 0})});
  const ValueId wide = net.graph.add("wide", Cast{ElementType::int32}, {less});
  const ValueId back = net.graph.add("back", Cast{ElementType::int64}, {wide});
  const ValueId first = net.graph.add("first", Slice{}, {shape, net.ints({0}), net.ints({1})});
  const ValueId wanted = net.graph.add("wanted", Concat{0}, {first, back, net.ints({1})});
  const Graph after = net.settled(net.graph.add("y", Reshape{}, {net.x, wanted}));
  ASSERT_EQ(node_list(after), "Reshape");
  EXPECT_THAT(target(after), ElementsAre(0, 8, 3, 6, 1));
}

TEST(EliminateShapeArithmetic, LeavesShapesWithTwoUnknownPlaces) {
  Net net({kUnknown, kUnknown, 6, 6});
  const ValueId wanted =
      net.graph.add("wanted", Concat{0}, {net.extent(net.x, 1), net.extent(net.x, 0), net.ints({36})});
  net.graph.outputs = {net.graph.add("y", Reshape{}, {net.x, wanted})};
  expect_untouched(net.graph, eliminate_shape_arithmetic, {net.random.floating({3, 4, 6, 6})});
}

TEST(EliminateShapeArithmetic, LeavesExtentsOfOtherInputs) {
  Net net;
  const ValueId z = net.graph.add_input("z", TensorType(ElementType::float32, std::vector<std::int64_t>{kUnknown}));
  const ValueId wanted =
      net.graph.add("wanted", Concat{0}, {net.extent(z, 0), net.extent(net.x, 0), net.ints({4, -1})});
  net.graph.outputs = {net.graph.add("y", Reshape{}, {net.x, wanted})};
  expect_untouched(net.graph, eliminate_shape_arithmetic,
                   {net.random.floating({2, 4, 6, 6}), net.random.floating({3})});
}

TEST(EliminateShapeArithmetic, MakesSizesOfAResizeScalesOrLeavesAxesOut) {
  for (const std::int64_t extent : {12, 7}) {
    Net net;
    const ValueId shape = net.graph.add("shape", ShapeOf{}, {net.x});
    const ValueId head = net.graph.add("head", Slice{}, {shape, net.ints({0}), net.ints({2})});
    const ValueId sizes = net.graph.add("sizes", Concat{0}, {head, net.ints({extent, extent})});
    const Graph after = net.settled(net.graph.add("y", Resize{}, {net.x, kNoValue, kNoValue, sizes}));
    ASSERT_EQ(node_list(after), "Resize");
    EXPECT_EQ(std::get<Resize>(after.nodes[0].op).axes.size(), extent == 12 ? 0U : 2U);
    EXPECT_EQ(after.value(after.outputs[0]).type.dims->back(), extent);
  }
}

TEST(EliminateShapeArithmetic, DropsWhatDoesNothing) {
  const auto dropped = [](auto&& make) {
    Net net;
    const ValueId y = make(net, net.graph.add("r", Unary{Unary::Kind::relu}, {net.x}));
    return node_list(net.settled(net.graph.add("t", Unary{Unary::Kind::tanh}, {y})));
  };
  const auto at = [](auto op) { return [op](Net& net, ValueId x) { return net.graph.add("n", op, {x}); }; };
  EXPECT_EQ(dropped(at(Unary{Unary::Kind::identity})), "Unary Unary");
  EXPECT_EQ(dropped(at(Dropout{})), "Unary Unary");
  EXPECT_EQ(dropped(at(Cast{ElementType::float32})), "Unary Unary");
  EXPECT_EQ(dropped(at(Concat{1})), "Unary Unary");
  const auto with = [](auto op, std::initializer_list<std::int64_t> list) {
    return [op, list](Net& net, ValueId x) { return net.graph.add("n", op, {x, net.ints(list)}); };
  };
  EXPECT_EQ(dropped(with(Pad{}, {0, 0, 0, 0, 0, 0, 0, 0})), "Unary Unary");
  EXPECT_EQ(dropped(with(Pad{}, {0, 0, 0, 0, 0, 0, 0, 0})), "Unary Unary");
  EXPECT_EQ(dropped(with(TileRepeat{}, {1, 1, 1, 1})), "Unary Unary");
  EXPECT_EQ(dropped(with(Expand{}, {4, 1, 6})), "Unary Unary");
  EXPECT_EQ(dropped([](Net& net, ValueId x) {
              return net.graph.add("n", Expand{}, {x, net.graph.add("shape", ShapeOf{}, {net.x})});
            }),
            "Unary Unary");
  EXPECT_EQ(dropped([](Net& net, ValueId x) {
              return net.graph.add(
                  "n", Slice{},
                  {x, net.ints({0, 0}), net.ints({std::numeric_limits<std::int64_t>::max(), 6}), net.ints({0, 3})});
            }),
            "Unary Unary");
  EXPECT_EQ(dropped([](Net& net, ValueId x) {
              return net.graph.add("n", Resize{},
                                   {x, kNoValue, net.graph.add_constant("s", floats({4}, {1, 1, 1, 1}))});
            }),
            "Unary Unary");
  EXPECT_EQ(dropped([](Net& net, ValueId x) {
              const ValueId sizes = net.graph.add("sizes", Concat{0}, {net.extent(net.x, 0), net.ints({4, 6, 6})});
              return net.graph.add("n", Resize{}, {x, kNoValue, kNoValue, sizes});
            }),
            "Unary Unary");
}

TEST(EliminateShapeArithmetic, KeepsWhatDoesSomething) {
  const auto kept = [](auto&& make) {
    Net net;
    net.expect_as_it_was(make(net, net.x));
  };
  kept([](Net& net, ValueId x) { return net.graph.add("n", Cast{ElementType::float64}, {x}); });
  kept([](Net& net, ValueId x) { return net.graph.add("n", Expand{}, {x, net.ints({2, 1, 1, 1, 1})}); });
  kept([](Net& net, ValueId x) { return net.graph.add("n", TileRepeat{}, {x, net.ints({1, 2, 1, 1})}); });
  kept([](Net& net, ValueId x) {
    return net.graph.add("n", Slice{}, {x, net.ints({0}), net.ints({5}), net.ints({3})});
  });
  kept([](Net& net, ValueId x) {
    return net.graph.add("n", Slice{}, {x, net.ints({0}), net.ints({2}), net.ints({0})});
  });
  kept([](Net& net, ValueId x) {
    return net.graph.add("n", Slice{}, {x, net.ints({5}), net.ints({-100}), net.ints({3}), net.ints({-1})});
  });
  kept([](Net& net, ValueId x) { return net.graph.add("n", Unary{Unary::Kind::identity}, {x}); });  // an output
  Net net;
  const auto outputs = net.graph.add_node("d", Dropout{2}, {net.x}, 2);
  net.graph.outputs = {net.graph.add("r", Unary{Unary::Kind::relu}, {outputs[0]}), outputs[1]};
  expect_untouched(net.graph, eliminate_shape_arithmetic, {net.random.floating({3, 4, 6, 6})});  // its mask is needed
}

TEST(EliminateShapeArithmetic, PutsTheBranchOfAKnownConditionInPlaceOfTheChoice) {
  const auto branch = [](Unary::Kind kind) {
    auto body = std::make_shared<Graph>();
    const ValueId in = body->add_input("in", TensorType(ElementType::float32, Shape{1}));
    const ValueId c = body->add_constant("c", Array::scalar<float>(2));
    const ValueId u = body->add("u", Unary{kind}, {in});
    body->outputs = {body->add("m", Binary{Binary::Kind::mul}, {u, c}), in, c};
    return body;
  };
  for (const std::int64_t channels : {4, 5}) {
    Net net;
    const ValueId condition =
        net.graph.add("same", Binary{Binary::Kind::equal}, {net.extent(net.x, 1), net.ints({channels})});
    const ValueId r = net.graph.add("r", Unary{Unary::Kind::relu}, {net.x});
    const auto made =
        net.graph.add_node("if", If{branch(Unary::Kind::tanh), branch(Unary::Kind::neg), 1}, {condition, r}, 3);
    net.graph.outputs = {made[0], made[1], made[2], r};
    const Graph after = after_pass(net.graph, eliminate_shape_arithmetic, {net.random.floating({3, 4, 6, 6})});
    for (const Node& node : after.nodes) EXPECT_FALSE(std::holds_alternative<If>(node.op));
    EXPECT_EQ(std::get<Unary>(after.nodes[1].op).kind, channels == 4 ? Unary::Kind::tanh : Unary::Kind::neg);
    EXPECT_EQ(after.nodes[1].name, "if/u");
  }
}

// One element broadcast with none is none.
TEST(EliminateShapeArithmetic, FollowsListsOfNoElements) {
  for (const bool swapped : {false, true}) {
    Net net;
    ShapeOf none;
    none.start = none.end.emplace(0);
    const ValueId list = net.graph.add("none", none, {net.x}), one = net.ints({5});
    const ValueId sum =
        net.graph.add("sum", Binary{Binary::Kind::add}, swapped ? std::vector{one, list} : std::vector{list, one});
    net.graph.outputs = {sum, net.graph.add("r", Unary{Unary::Kind::relu}, {net.x})};
    const Graph after = after_pass(net.graph, eliminate_shape_arithmetic, {net.random.floating({3, 4, 6, 6})});
    EXPECT_EQ(after.value(after.outputs[0]).type, TensorType(ElementType::int64, Shape{0}));
  }
}

}  // namespace
}  // namespace tessera
