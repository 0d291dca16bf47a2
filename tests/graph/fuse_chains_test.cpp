#include "pass_testing.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

constexpr ChainLimits kAll{.min_bytes = 0};
bool fuse_all(Graph& graph) { return fuse_chains(graph, kAll); }

// Convolutions over x [1, 4, 6, 6].
struct Net {
  Graph graph;
  PassInputs random{22};
  ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 4, 6, 6}));

  ValueId conv(const std::string& name, ValueId from, Shape w, std::int64_t groups = 1, std::int64_t pad = 0) {
    Conv op;
    op.window.pads = {pad, pad, pad, pad};
    op.groups = groups;
    const ValueId bias = graph.add_constant(name + ".b", random.floating({w[0]}));
    return graph.add(name, op, {from, graph.add_constant(name + ".w", random.floating(std::move(w))), bias});
  }
  ValueId expand(ValueId from) { return conv("expand", from, {12, 4, 1, 1}); }
  ValueId depthwise(ValueId from) { return conv("depthwise", from, {12, 1, 3, 3}, 12, 1); }
  ValueId project(ValueId from) { return conv("project", from, {4, 12, 1, 1}); }
  ValueId relu(ValueId from) { return graph.add("relu", Unary{Unary::Kind::relu}, {from}); }
  ValueId add(ValueId a, ValueId b) { return graph.add("add", Binary{Binary::Kind::add}, {a, b}); }
  std::vector<Array> inputs() { return {random.floating({1, 4, 6, 6}, 2)}; }

  std::string after() {
    fuse_epilogue(graph);
    infer_types(graph);
    return node_list(after_pass(graph, fuse_all, inputs()));
  }
  void expect_as_it_was() { expect_untouched(graph, fuse_all, inputs()); }
};

TEST(FuseChains, JoinsAnInvertedResidual) {
  Net net;
  net.graph.outputs = {net.add(net.project(net.relu(net.depthwise(net.relu(net.expand(net.x))))), net.x)};
  EXPECT_EQ(net.after(), "Conv+Unary+Conv+Unary+Conv+Binary");
}

TEST(FuseChains, JoinsPairs) {
  Net before, behind;
  before.graph.outputs = {before.depthwise(before.relu(before.expand(before.x)))};
  EXPECT_EQ(before.after(), "Conv+Unary+Conv");
  behind.graph.outputs = {behind.conv("p", behind.conv("d", behind.x, {4, 1, 3, 3}, 4, 1), {2, 4, 1, 1})};
  EXPECT_EQ(behind.after(), "Conv+Conv");
}

TEST(FuseChains, ComesAfterWhatTheEndReads) {
  Net net;
  const ValueId wide = net.expand(net.x);
  const ValueId other = net.conv("other", net.x, {4, 4, 3, 3}, 1, 1);
  net.graph.outputs = {net.add(other, net.project(net.depthwise(wide)))};
  EXPECT_EQ(net.after(), "Conv Conv+Conv+Conv+Binary");
}

TEST(FuseChains, LeavesValuesThatOthersRead) {
  Net net;
  const ValueId wide = net.expand(net.x), deep = net.depthwise(wide);
  net.graph.outputs = {net.project(deep), wide, deep};
  net.expect_as_it_was();
}

TEST(FuseChains, LeavesConvolutionsThatAreNotDepthwise) {
  Net net;
  net.graph.outputs = {net.project(net.conv("c", net.expand(net.x), {12, 12, 3, 3}, 1, 1))};
  net.expect_as_it_was();
}

TEST(FuseChains, LeavesWhatFollowsUnlessItIsPointwise) {
  Net net;
  net.graph.outputs = {net.conv("p", net.conv("d", net.x, {4, 1, 3, 3}, 4, 1), {2, 4, 3, 3})};
  net.expect_as_it_was();
  Net strided;
  Conv op;
  op.window.strides = {2, 2};
  strided.graph.outputs = {strided.graph.add("p", op,
                                             {strided.conv("d", strided.x, {4, 1, 3, 3}, 4, 1),
                                              strided.graph.add_constant("w", strided.random.floating({2, 4, 1, 1}))})};
  strided.expect_as_it_was();
}

TEST(FuseChains, LeavesSumsWithinTheChain) {
  Net net;
  const ValueId wide = net.expand(net.x), more = net.conv("more", net.x, {12, 4, 1, 1});
  net.graph.outputs = {net.project(net.depthwise(net.add(wide, more)))};
  EXPECT_EQ(net.after(), "Conv Conv+Binary Conv+Conv");
}

TEST(FuseChains, LeavesSmallValuesAndLargeRows) {
  Net net;
  net.graph.outputs = {net.project(net.depthwise(net.expand(net.x)))};
  Graph graph = net.graph;
  EXPECT_FALSE(fuse_chains(graph));  // 1728 bytes
  EXPECT_FALSE(fuse_chains(graph, {.min_bytes = 1729}));
  EXPECT_FALSE(fuse_chains(graph, {.min_bytes = 0, .max_rows_bytes = 5 * 12 * 6 * 4 - 1}));
  EXPECT_FALSE(fuse_chains(graph, {.min_bytes = 0, .max_weight_bytes = 12 * 4 * 4 - 1}));
  EXPECT_TRUE(
      fuse_chains(graph, {.min_bytes = 1728, .max_rows_bytes = 5 * 12 * 6 * 4, .max_weight_bytes = 12 * 4 * 4}));
  EXPECT_EQ(node_list(graph), "Conv+Conv+Conv");
}

}  // namespace
}  // namespace tessera
