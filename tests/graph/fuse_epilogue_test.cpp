#include "pass_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using Kind = Unary::Kind;
constexpr std::int64_t kUnknown = TensorType::kUnknown;

// A graph with x [1, 4, 6, 6] and convolutions that keep its shape.
struct Net {
  Graph graph;
  PassInputs random{21};
  ValueId x;

  explicit Net(std::int64_t batch = 1)
      : x(graph.add_input("x", TensorType(ElementType::float32, std::vector<std::int64_t>{batch, 4, 6, 6}))) {}

  ValueId conv(const std::string& name, ValueId from) {
    Conv op;
    op.window.pads = {1, 1, 1, 1};
    return graph.add(name, op, {from, graph.add_constant(name + ".w", random.floating({4, 4, 3, 3}))});
  }
  ValueId unary(const std::string& name, Kind kind, ValueId from, float alpha = 0, float beta = 0) {
    return graph.add(name, Unary{kind, alpha, beta}, {from});
  }
  ValueId add(const std::string& name, ValueId a, ValueId b) {
    return graph.add(name, Binary{Binary::Kind::add}, {a, b});
  }
  ValueId clip(const std::string& name, ValueId from, bool low, bool high) {
    return graph.add(name, Clip{},
                     {from, low ? graph.add_constant(name + ".low", Array::scalar<float>(-0.25f)) : kNoValue,
                      high ? graph.add_constant(name + ".high", Array::scalar<float>(0.5f)) : kNoValue});
  }
  ValueId max_pool(const std::string& name, ValueId from) {
    MaxPool op;
    op.window.kernel = {2, 2};
    op.window.strides = {2, 2};
    return graph.add(name, op, {from});
  }
  std::vector<Array> inputs(std::int64_t batch = 1) { return {random.floating({batch, 4, 6, 6}, 2)}; }
  Graph fused() { return after_pass(graph, fuse_epilogue, inputs()); }
  void expect_as_it_was() { expect_untouched(graph, fuse_epilogue, inputs()); }
};

TEST(FuseEpilogue, TakesActivations) {
  for (const Kind kind : {Kind::relu, Kind::leaky_relu, Kind::elu, Kind::sigmoid, Kind::silu, Kind::hard_sigmoid,
                          Kind::hard_swish, Kind::tanh, Kind::softplus, Kind::mish, Kind::gelu, Kind::gelu_tanh}) {
    Net net;
    net.graph.outputs = {net.unary("y", kind, net.conv("c", net.x), 0.2f, 0.5f)};
    const Graph after = net.fused();
    ASSERT_EQ(node_list(after), "Conv+Unary");
    EXPECT_EQ(after.nodes[0].fused[0].op, (Op{Unary{kind, 0.2f, 0.5f}}));
    EXPECT_THAT(after.nodes[0].fused[0].operands, testing::ElementsAre(FusedOp::kChained));
  }
}

TEST(FuseEpilogue, TakesClipsWithWhicheverBoundsTheyHave) {
  for (const bool low : {false, true})
    for (const bool high : {false, true}) {
      Net net;
      net.graph.outputs = {net.clip("y", net.conv("c", net.x), low, high)};
      const Graph after = net.fused();
      ASSERT_EQ(node_list(after), "Conv+Clip");
      const Node& node = after.nodes[0];
      EXPECT_EQ(node.fused_inputs, high ? 2U : low ? 1U : 0U);
      for (ValueId id : node.inputs) EXPECT_NE(id, kNoValue);
      for (std::size_t i = 1; i < node.fused[0].operands.size(); ++i)
        EXPECT_EQ(node.fused[0].operands[i], static_cast<int>(node.op_inputs() + i - 1));
    }
}

TEST(FuseEpilogue, TakesTheWholeChain) {
  Net net;
  const ValueId before = net.clip("before", net.conv("c", net.x), true, true);
  const ValueId after_sum = net.unary("after", Kind::relu, net.add("sum", net.x, before));
  net.graph.outputs = {net.max_pool("pool", after_sum)};
  const Graph after = net.fused();
  ASSERT_EQ(node_list(after), "Conv+Clip+Binary+Unary+MaxPool");
  EXPECT_EQ(after.nodes[0].fused_inputs, 3U);
  EXPECT_THAT(after.nodes[0].fused[1].operands, testing::ElementsAre(4, FusedOp::kChained)) << "the order of operands";
  EXPECT_EQ(after.value(after.nodes[0].outputs[0]).name, "pool");
}

TEST(FuseEpilogue, GivesASumOfTwoConvolutionsToTheLater) {
  Net net;
  const ValueId a = net.unary("ra", Kind::relu, net.conv("a", net.x)), b = net.conv("b", net.x);
  net.graph.outputs = {net.unary("y", Kind::relu, net.add("sum", a, b))};
  const Graph after = net.fused();
  ASSERT_EQ(node_list(after), "Conv+Unary Conv+Binary+Unary");
  EXPECT_EQ(after.nodes[1].name, "b");
}

TEST(FuseEpilogue, MovesAConvolutionBehindTheOtherOperand) {
  Net net;
  const ValueId a = net.conv("a", net.x), tanh = net.unary("t", Kind::tanh, net.x);
  net.graph.outputs = {net.add("y", a, tanh)};
  const Graph after = net.fused();
  ASSERT_EQ(node_list(after), "Unary Conv+Binary");
}

TEST(FuseEpilogue, ServesResidualBlocksInARow) {
  Net net;
  ValueId x = net.unary("stem", Kind::relu, net.conv("s", net.x));
  for (const char* name : {"b1", "b2", "b3"}) {
    const ValueId inner = net.unary(std::string(name) + ".r", Kind::relu, net.conv(std::string(name) + ".1", x));
    x = net.unary(std::string(name) + ".o", Kind::relu,
                  net.add(std::string(name) + ".a", net.conv(std::string(name) + ".2", inner), x));
  }
  net.graph.outputs = {x};
  EXPECT_EQ(node_list(net.fused()),
            "Conv+Unary Conv+Unary Conv+Binary+Unary Conv+Unary Conv+Binary+Unary Conv+Unary Conv+Binary+Unary");
}

TEST(FuseEpilogue, KnowsThatABatchIsTheSameOnBothSides) {
  Net net(kUnknown);
  net.graph.outputs = {net.add("y", net.conv("b", net.unary("r", Kind::relu, net.conv("a", net.x))), net.x)};
  EXPECT_EQ(node_list(after_pass(net.graph, fuse_epilogue, net.inputs(3))), "Conv+Unary Conv+Binary");

  Net other(kUnknown);  // a second input whose batch may be 1
  const ValueId z =
      other.graph.add_input("z", TensorType(ElementType::float32, std::vector<std::int64_t>{kUnknown, 4, 6, 6}));
  other.graph.outputs = {other.add("y", other.conv("a", other.x), z)};
  expect_untouched(other.graph, fuse_epilogue,
                   {other.random.floating({3, 4, 6, 6}), other.random.floating({1, 4, 6, 6})});
}

TEST(FuseEpilogue, ServesMatrixProductsAndTransposedConvolutions) {
  PassInputs random(22);
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{3, 4}));
  const ValueId w = graph.add_constant("w", random.floating({4, 4}));
  ValueId y = graph.add("m", MatMul{}, {x, w});
  y = graph.add("sum", Binary{Binary::Kind::add}, {y, x});
  y = graph.add("g", Gemm{}, {y, w});
  y = graph.add("r", Unary{Kind::silu}, {y});
  y = graph.add("cube", Unsqueeze{{0, 1}}, {y});
  ConvTranspose up;
  up.window.strides = {2, 2};
  y = graph.add("u", up, {y, graph.add_constant("uw", random.floating({1, 2, 2, 2}))});
  graph.outputs = {graph.add("z", Unary{Kind::relu}, {y})};
  EXPECT_EQ(node_list(after_pass(graph, fuse_epilogue, {random.floating({3, 4})})),
            "MatMul+Binary Gemm+Unary Unsqueeze ConvTranspose+Unary");
}

TEST(FuseEpilogue, LeavesValuesThatOthersNeed) {
  Net twice;
  const ValueId c = twice.conv("c", twice.x);
  twice.graph.outputs = {twice.unary("y", Kind::relu, c), twice.unary("z", Kind::tanh, c)};
  twice.expect_as_it_was();

  Net output;
  const ValueId made = output.conv("c", output.x);
  output.graph.outputs = {output.unary("y", Kind::relu, made), made};
  output.expect_as_it_was();

  Net with_itself;
  const ValueId both = with_itself.conv("c", with_itself.x);
  with_itself.graph.outputs = {with_itself.add("y", both, both)};
  with_itself.expect_as_it_was();
}

TEST(FuseEpilogue, LeavesWhatDoesNotFitTheForm) {
  Net sine;
  sine.graph.outputs = {sine.unary("y", Kind::sin, sine.conv("c", sine.x))};
  sine.expect_as_it_was();

  Net broadcast;
  broadcast.graph.outputs = {
      broadcast.add("y", broadcast.conv("c", broadcast.x), broadcast.graph.add("m", GlobalPool{}, {broadcast.x}))};
  broadcast.expect_as_it_was();

  Net product;
  product.graph.outputs = {
      product.graph.add("y", Binary{Binary::Kind::mul}, {product.conv("c", product.x), product.x})};
  product.expect_as_it_was();

  Net indices;
  MaxPool pool;
  pool.window.kernel = {2, 2};
  pool.with_indices = true;
  indices.graph.outputs = indices.graph.add_node("p", pool, {indices.conv("c", indices.x)}, 2);
  indices.expect_as_it_was();

  Net moving_bound;
  const ValueId low = moving_bound.graph.add_input("low", TensorType(ElementType::float32, Shape{}));
  moving_bound.graph.outputs = {moving_bound.graph.add("y", Clip{}, {moving_bound.conv("c", moving_bound.x), low})};
  expect_untouched(moving_bound.graph, fuse_epilogue,
                   {moving_bound.random.floating({1, 4, 6, 6}), Array::scalar<float>(0)});
}

TEST(FuseEpilogue, StopsAfterEachPartOfTheForm) {
  Net two_activations;
  two_activations.graph.outputs = {two_activations.unary(
      "y", Kind::relu, two_activations.unary("s", Kind::sigmoid, two_activations.conv("c", two_activations.x)))};
  EXPECT_EQ(node_list(two_activations.fused()), "Conv+Unary Unary");

  Net two_sums;
  two_sums.graph.outputs = {
      two_sums.add("y", two_sums.add("s", two_sums.conv("c", two_sums.x), two_sums.x), two_sums.x)};
  EXPECT_EQ(node_list(two_sums.fused()), "Conv+Binary Binary");

  Net after_pool;
  after_pool.graph.outputs = {
      after_pool.unary("y", Kind::relu, after_pool.max_pool("p", after_pool.conv("c", after_pool.x)))};
  EXPECT_EQ(node_list(after_pool.fused()), "Conv+MaxPool Unary");
}

}  // namespace
}  // namespace tessera
