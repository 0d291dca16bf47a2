#include "pass_testing.h"

#include <limits>

namespace tessera {
namespace {

struct Parameters {
  Array scale, bias, mean, variance;
};

Parameters parameters(PassInputs& random, std::int64_t channels) {
  return {random.floating({channels}, 2), random.floating({channels}), random.floating({channels}),
          random.positive({channels})};
}

ValueId add_batch_norm(Graph& graph, const std::string& name, ValueId x, const Parameters& p) {
  return graph.add(name, BatchNorm{},
                   {x, graph.add_constant(name + ".scale", p.scale), graph.add_constant(name + ".shift", p.bias),
                    graph.add_constant(name + ".mean", p.mean), graph.add_constant(name + ".var", p.variance)});
}

ValueId add_conv(Graph& graph, PassInputs& random, ValueId x, Shape weights, std::int64_t groups, bool bias) {
  Conv op;
  op.groups = groups;
  op.window.pads = {1, 1, 1, 1};
  std::vector<ValueId> inputs{x, graph.add_constant("w", random.floating(weights))};
  if (bias) inputs.push_back(graph.add_constant("b", random.floating({weights[0]})));
  return graph.add("conv", op, inputs);
}

TEST(FoldBatchNorm, FoldsIntoConvolutionsOfAnyGroupingWithAndWithoutBias) {
  for (const std::int64_t groups : {1, 2, 6})
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(testing::Message() << groups << " groups, bias " << bias);
      PassInputs random(7);
      Graph graph;
      const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 6, 5, 7}));
      const ValueId y = add_conv(graph, random, x, Shape{6, 6 / groups, 3, 3}, groups, bias);
      graph.outputs = {add_batch_norm(graph, "bn", y, parameters(random, 6))};
      const Graph after = after_pass(graph, fold_batch_norm, {random.floating({2, 6, 5, 7}, 3)});
      EXPECT_EQ(node_list(after), "Conv");
      EXPECT_EQ(after.nodes[0].name, "conv");
      EXPECT_EQ(after.nodes[0].inputs.size(), 3U);
    }
}

TEST(FoldBatchNorm, FoldsIntoTransposedConvolutionsWithGroups) {
  for (const std::int64_t groups : {1, 2}) {
    PassInputs random(8);
    Graph graph;
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 4, 3, 3}));
    ConvTranspose op;
    op.groups = groups;
    op.window.strides = {2, 2};
    const ValueId y = graph.add("up", op, {x, graph.add_constant("w", random.floating({4, 3, 2, 2}))});
    graph.outputs = {add_batch_norm(graph, "bn", y, parameters(random, 3 * groups))};
    EXPECT_EQ(node_list(after_pass(graph, fold_batch_norm, {random.floating({1, 4, 3, 3})})), "ConvTranspose");
  }
}

TEST(FoldBatchNorm, FoldsIntoDenseLayersEitherWayRound) {
  for (const bool transposed : {false, true}) {
    PassInputs random(9);
    Graph graph;
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{3, 5}));
    Gemm op;
    op.transpose_b = transposed;
    op.alpha = 0.5f;
    op.beta = 2;
    const Shape w = transposed ? Shape{4, 5} : Shape{5, 4};
    const ValueId y = graph.add(
        "fc", op, {x, graph.add_constant("w", random.floating(w)), graph.add_constant("c", random.floating({1, 4}))});
    graph.outputs = {add_batch_norm(graph, "bn", y, parameters(random, 4))};
    EXPECT_EQ(node_list(after_pass(graph, fold_batch_norm, {random.floating({3, 5})})), "Gemm");
  }
}

TEST(FoldBatchNorm, FoldsArithmeticWithOneConstantForEachChannel) {
  using Kind = Binary::Kind;
  for (const Kind kind : {Kind::add, Kind::sub, Kind::mul, Kind::div})
    for (const bool reversed : {false, true})
      for (const Shape& shape : {Shape{4, 1, 1}, Shape{1, 4, 1, 1}, Shape{1}, Shape{}}) {
        if (kind == Kind::div && reversed) continue;
        SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << " " << reversed << " " << shape.to_string());
        PassInputs random(10);
        Graph graph;
        const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 3, 4, 4}));
        const ValueId y = add_conv(graph, random, x, Shape{4, 3, 3, 3}, 1, true);
        const ValueId c = graph.add_constant("c", random.positive(shape));
        graph.outputs = {graph.add("y", Binary{kind}, reversed ? std::vector{c, y} : std::vector{y, c})};
        EXPECT_EQ(node_list(after_pass(graph, fold_batch_norm, {random.floating({1, 3, 4, 4})})), "Conv");
      }
}

TEST(FoldBatchNorm, FoldsWholeChainsWithUnknownBatch) {
  PassInputs random(11);
  Graph graph;
  const ValueId x =
      graph.add_input("x", TensorType(ElementType::float32, std::vector<std::int64_t>{TensorType::kUnknown, 3, 4, 4}));
  ValueId y = add_conv(graph, random, x, Shape{4, 3, 3, 3}, 1, false);
  y = add_batch_norm(graph, "bn1", y, parameters(random, 4));
  y = graph.add("scaled", Binary{Binary::Kind::mul}, {y, graph.add_constant("k", random.floating({4, 1, 1}))});
  graph.outputs = {graph.add("y", Binary{Binary::Kind::add}, {graph.add_constant("s", random.floating({4, 1, 1})), y})};
  EXPECT_EQ(node_list(after_pass(graph, fold_batch_norm, {random.floating({3, 3, 4, 4})})), "Conv");
}

TEST(FoldBatchNorm, WorksInHalfPrecision) {
  PassInputs random(12);
  Graph graph;
  const ElementType half = ElementType::float16;
  const ValueId x = graph.add_input("x", TensorType(half, Shape{1, 3, 4, 4}));
  const ValueId y = graph.add("conv", Conv{}, {x, graph.add_constant("w", random.floating({4, 3, 3, 3}, 1, half))});
  graph.outputs = {add_batch_norm(graph, "bn", y, parameters(random, 4))};
  const Graph after = after_pass(graph, fold_batch_norm, {random.floating({1, 3, 4, 4}, 1, half)});
  EXPECT_EQ(node_list(after), "Conv");
  EXPECT_EQ(after.value(after.nodes[0].inputs[2]).type.type, half);
}

// More than a few KiB: made only when someone asks, from weights that are doubled again by a second fold.
TEST(FoldBatchNorm, LargeWeightsAreDeferredAndTheSame) {
  const auto weights_of = [](const Graph& graph) -> const Array& {
    return *graph.value(graph.nodes.at(0).inputs.at(1)).constant;
  };
  const auto fold_twice = [&](Op op, const Shape& x, const Shape& w, std::int64_t channels) {
    PassInputs random(17);
    Graph graph;
    const ValueId in = graph.add_input("x", TensorType(ElementType::float32, x));
    ValueId y = graph.add("layer", std::move(op), {in, graph.add_constant("w", random.floating(w))});
    y = add_batch_norm(graph, "bn", y, parameters(random, channels));
    graph.outputs = {
        graph.add("y", Binary{Binary::Kind::mul}, {y, graph.add_constant("two", Array::scalar<float>(2))})};
    const Graph after = after_pass(graph, fold_batch_norm, {random.floating(x)});
    EXPECT_EQ(after.nodes.size(), 1u);
    EXPECT_NE(weights_of(after).deferred(), nullptr);
  };
  Conv conv;
  conv.groups = 2;
  fold_twice(conv, Shape{1, 64, 3, 4}, Shape{70, 32, 3, 3}, 70);
  ConvTranspose transposed;
  transposed.groups = 2;
  fold_twice(transposed, Shape{1, 64, 2, 3}, Shape{64, 33, 3, 3}, 66);
  Gemm gemm;
  fold_twice(gemm, Shape{2, 151}, Shape{151, 130}, 130);
  gemm.transpose_b = true;
  fold_twice(gemm, Shape{2, 151}, Shape{130, 151}, 130);
}

TEST(FoldBatchNorm, LargeWeightsThatWouldOverflowStayWithAllOthers) {
  for (const float bad : {1e38f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const bool transposed : {false, true}) {
      PassInputs random(18);
      Graph graph;
      const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 151}));
      Gemm op;
      op.transpose_b = transposed;
      Array w = random.floating(transposed ? Shape{130, 151} : Shape{151, 130});
      w.as<float>()[12'345] = bad;
      const ValueId y = graph.add("fc", op, {x, graph.add_constant("w", w)});
      Array scale(ElementType::float32, Shape{130});
      for (float& v : scale.as<float>()) v = 1000;
      graph.outputs = {graph.add("y", Binary{Binary::Kind::mul}, {y, graph.add_constant("scale", scale)})};
      EXPECT_FALSE(fold_batch_norm(graph)) << bad;
      EXPECT_EQ(graph.nodes.size(), 2u);
    }
}

TEST(FoldBatchNorm, LeavesWhatItMayNotTouch) {
  const auto conv_and = [](auto&& rest) {
    PassInputs random(13);
    Graph graph;
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 3, 4, 4}));
    rest(graph, random, add_conv(graph, random, x, Shape{4, 3, 3, 3}, 1, true));
    expect_untouched(graph, fold_batch_norm, {random.floating({1, 3, 4, 4})});
  };
  conv_and([](Graph& g, PassInputs& random, ValueId y) {  // someone else reads the convolution
    g.outputs = {add_batch_norm(g, "bn", y, parameters(random, 4)), g.add("r", Unary{Unary::Kind::relu}, {y})};
  });
  conv_and([](Graph& g, PassInputs& random, ValueId y) {  // it is an output
    g.outputs = {add_batch_norm(g, "bn", y, parameters(random, 4)), y};
  });
  conv_and([](Graph& g, PassInputs& random, ValueId y) {  // one constant for each column, not for each channel
    g.outputs = {g.add("y", Binary{Binary::Kind::mul}, {y, g.add_constant("c", random.floating({4}))})};
  });
  conv_and([](Graph& g, PassInputs& random, ValueId y) {  // the constant adds a dimension
    g.outputs = {g.add("y", Binary{Binary::Kind::mul}, {y, g.add_constant("c", random.floating({1, 1, 4, 1, 1}))})};
  });
  conv_and([](Graph& g, PassInputs& random, ValueId y) {  // a variance that gives no finite scale
    Parameters p = parameters(random, 4);
    p.variance.as<float>()[2] = -1;
    g.outputs = {add_batch_norm(g, "bn", y, p)};
  });
  conv_and([](Graph& g, PassInputs& random, ValueId y) {  // a constant divided by the convolution is no scale of it
    g.outputs = {g.add("y", Binary{Binary::Kind::div}, {g.add_constant("c", random.positive({4, 1, 1})), y})};
  });
  conv_and([](Graph& g, PassInputs&, ValueId y) {  // divided by zero
    g.outputs = {g.add("y", Binary{Binary::Kind::div}, {y, g.add_constant("c", Array::scalar<float>(0))})};
  });
  PassInputs random(14);
  Graph graph;  // nothing to fold into
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 3, 4, 4}));
  graph.outputs = {add_batch_norm(graph, "bn", x, parameters(random, 3))};
  expect_untouched(graph, fold_batch_norm, {random.floating({1, 3, 4, 4})});
}

TEST(FoldBatchNorm, LeavesWeightsThatOthersReadAsTheyAre) {
  PassInputs random(15);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 2, 4, 4}));
  const ValueId w = graph.add_constant("w", random.floating({2, 2, 3, 3}));
  const ValueId a = graph.add("a", Conv{}, {x, w}), b = graph.add("b", Conv{}, {x, w});
  graph.outputs = {add_batch_norm(graph, "bn", a, parameters(random, 2)), b};
  EXPECT_EQ(node_list(after_pass(graph, fold_batch_norm, {random.floating({1, 2, 4, 4})})), "Conv Conv");
}

}  // namespace
}  // namespace tessera
