// Images, tokens, heads and groups of channels: networks whose values are not all N C H W.

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/ops/permute/rearrange.h"
#include "tests/targets/tensix/random_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

using testing::ElementsAre;

class Net {
 public:
  explicit Net(const Shape& input) : x(graph.add_input("x", {ElementType::float32, input})) {}

  ValueId constant(const Shape& shape, float scale = 1, float mean = 0) {
    Array array = Array::of<float>(shape, random_values(shape.volume(), seed_++, Kind::normal));
    for (float& v : array.as<float>()) v = mean + v * scale;
    return graph.add_constant("c" + std::to_string(count_++), std::move(array));
  }
  ValueId integers(const std::vector<std::int64_t>& values) {
    return graph.add_constant("i" + std::to_string(count_++),
                              Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
  }
  ValueId place(std::int64_t at) {
    const std::vector<std::int64_t> one{at};
    return graph.add_constant("i" + std::to_string(count_++), Array::of<std::int64_t>(Shape{}, one));
  }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    return graph.add("n" + std::to_string(count_++), std::move(op), std::move(inputs));
  }
  ValueId conv(ValueId from, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1) {
    const std::int64_t in = graph.value(from).type.shape()[1];
    Conv op;
    op.window.strides = {stride, stride};
    op.window.pads = std::vector<std::int64_t>(4, kernel == stride ? 0 : kernel / 2);
    const auto fan_in = static_cast<float>(in * kernel * kernel);
    return add(op, {from, constant(Shape{out, in, kernel, kernel}, 1 / std::sqrt(fan_in)), constant(Shape{out}, 0.1f)});
  }
  ValueId reshape(ValueId from, const std::vector<std::int64_t>& dims) {
    return add(Reshape{}, {from, integers(dims)});
  }
  ValueId transpose(ValueId from, std::vector<std::int64_t> perm) { return add(Transpose{std::move(perm)}, {from}); }
  ValueId product(ValueId from, std::int64_t out) {
    const Shape shape = graph.value(from).type.shape();
    const std::int64_t in = shape[-1];
    return add(Binary{Binary::Kind::add},
               {add(MatMul{}, {from, constant(Shape{in, out}, 1 / std::sqrt(static_cast<float>(in)))}),
                constant(Shape{out}, 0.1f)});
  }
  ValueId norm(ValueId from) {
    const Shape each{graph.value(from).type.shape()[-1]};
    return add(LayerNorm{}, {from, constant(each, 0.1f, 1), constant(each, 0.1f)});
  }

  Graph graph;
  ValueId x;

 private:
  std::uint64_t seed_ = 1;
  int count_ = 0;
};

double correlation(const Array& a, const Array& b) {
  const auto x = a.as<float>(), y = b.as<float>();
  double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sx += double{x[i]}, sy += double{y[i]};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = double{x[i]} - sx / static_cast<double>(x.size()),
                 dy = double{y[i]} - sy / static_cast<double>(y.size());
    xx += dx * dx, yy += dy * dy, xy += dx * dy;
  }
  return xy / std::sqrt(xx * yy);
}

// What the card computes against the definition; the operators it took.
std::vector<std::string> simulated(Net& net, ValueId y, double least = 0.999) {
  net.graph.outputs = {y};
  verify(net.graph);
  std::vector<Array> inputs;
  const Shape shape = net.graph.value(net.x).type.shape();
  inputs.push_back(Array::of<float>(shape, random_values(shape.volume(), 99, Kind::normal)));
  const LoweredGraph network = lower(net.graph);
  SimulateOptions options;
  options.weights_dtype = DType::bfloat16;
  options.compute.fidelity = MathFidelity::hifi4;
  options.compute.fp32_dest_acc_en = true;
  const auto device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 32768});
  const Simulation done = simulate(device, network, inputs, options);
  const Array expected = evaluate(net.graph, inputs)[0];
  EXPECT_EQ(done.outputs.at(0).shape(), expected.shape());
  EXPECT_GE(correlation(done.outputs.at(0), expected), least);
  for (const SimulatedStep& step : done.steps) {
    EXPECT_TRUE(step.programs == 0 || step.time.ns > 0) << step.node;
  }
  std::vector<std::string> ops;
  for (const LoweredNode& node : network.nodes) ops.push_back(node.op);
  return ops;
}

// --- where elements go
// ------------------------------------------------------------------------------------------------

TEST(ElementOrder, FollowsReshapesAndTransposes) {
  ElementOrder order(Shape{2, 12, 5});
  ASSERT_TRUE(order.reshape(Shape{2, 3, 4, 5}));
  ASSERT_TRUE(order.transpose({0, 2, 1, 3}));
  ASSERT_TRUE(order.reshape(Shape{2, 12, 5}));
  EXPECT_EQ(order.shape(), (Shape{2, 12, 5}));
  // Channels of three groups, as columns: every row is turned from 3 x 4 to 4 x 3.
  const auto layer = order.layer(1, 1);
  ASSERT_TRUE(layer);
  EXPECT_THAT(layer->dims, ElementsAre(10, 3, 4));
  EXPECT_THAT(layer->order, ElementsAre(0, 2, 1));
}

TEST(ElementOrder, KeepsTheMatrixBetweenImagesAndTokens) {
  ElementOrder order(Shape{2, 8, 3, 5});
  ASSERT_TRUE(order.reshape(Shape{2, 8, 15}));
  ASSERT_TRUE(order.transpose({0, 2, 1}));
  const auto layer = order.layer(1, 2);
  ASSERT_TRUE(layer);
  EXPECT_TRUE(layer->keeps_order());
}

TEST(ElementOrder, RefusesWhatDimensionsCannotSay) {
  ElementOrder order(Shape{2, 3});
  ASSERT_TRUE(order.transpose({1, 0}));
  EXPECT_FALSE(order.reshape(Shape{1, 4}));
  EXPECT_EQ(order.shape(), (Shape{3, 2}));
}

// --- networks
// ---------------------------------------------------------------------------------------------------------

TEST(MovedElements, ImagesBecomeTokensAndImagesAgainWithoutAMove) {
  Net net(Shape{2, 3, 16, 16});
  const ValueId image = net.conv(net.x, 64, 4, 4);
  const ValueId tokens = net.transpose(image, {0, 2, 3, 1});
  const ValueId wide = net.add(Unary{Unary::Kind::gelu}, {net.product(net.norm(tokens), 128)});
  const ValueId back = net.transpose(net.product(wide, 64), {0, 3, 1, 2});
  const std::vector<std::string> ops = simulated(net, net.add(Binary{Binary::Kind::add}, {back, image}));
  for (const char* move : {"permute", "transpose"}) EXPECT_EQ(std::count(ops.begin(), ops.end(), move), 0) << move;
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "layer_norm"), 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "linear"), 2);
}

TEST(MovedElements, BatchNormThatFollowsNoProduct) {
  Net net(Shape{1, 3, 8, 8});
  const ValueId image = net.conv(net.x, 32, 3);
  const Shape each{32};
  const ValueId y = net.add(BatchNorm{}, {image, net.constant(each, 0.1f, 1), net.constant(each, 0.1f),
                                          net.constant(each, 0.1f), net.constant(each, 0.05f, 1)});
  const ValueId relu = net.add(Unary{Unary::Kind::relu}, {y});
  Concat join;
  join.axis = 1;
  EXPECT_THAT(simulated(net, net.add(join, {relu, image})), ElementsAre("conv2d", "multiply", "add", "concat"));
}

TEST(MovedElements, ChannelsAreShuffledInOneMove) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId image = net.conv(net.x, 24, 3);
  const ValueId groups = net.transpose(net.reshape(image, {2, 2, 12, 8, 8}), {0, 2, 1, 3, 4});
  const ValueId y = net.conv(net.reshape(groups, {2, 24, 8, 8}), 8, 1);
  EXPECT_THAT(simulated(net, y), ElementsAre("conv2d", "permute", "conv2d"));
}

TEST(MovedElements, EachImageHasGatesOfItsOwn) {
  Net net(Shape{3, 3, 8, 8});
  const ValueId image = net.conv(net.x, 32, 3);
  const ValueId gate = net.add(Unary{Unary::Kind::sigmoid}, {net.conv(net.add(GlobalPool{}, {image}), 32, 1)});
  const std::vector<std::string> ops = simulated(net, net.add(Binary{Binary::Kind::mul}, {image, gate}));
  EXPECT_EQ(ops.back(), "multiply");
}

TEST(MovedElements, EachPixelHasAGate) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId image = net.conv(net.x, 32, 3);
  simulated(net, net.add(Binary{Binary::Kind::mul}, {image, net.conv(image, 1, 3)}));
}

TEST(MovedElements, PixelsBecomeChannelsAndBack) {
  Net net(Shape{1, 4, 8, 8});
  const ValueId deep = net.conv(net.add(SpaceToDepth{2}, {net.x}), 32, 3);
  simulated(net, net.add(DepthToSpace{2}, {deep}));
}

// A block of a transformer, with a token of its own and places.
TEST(MovedElements, TransformersRun) {
  for (const std::int64_t size : {32, 20}) {
    constexpr std::int64_t kBatch = 2, kHeads = 2;
    const std::int64_t width = kHeads * size, tokens = 17;
    Net net(Shape{kBatch, 3, 16, 16});
    ValueId x = net.transpose(net.reshape(net.conv(net.x, width, 4, 4), {kBatch, width, 16}), {0, 2, 1});
    Concat join;
    join.axis = 1;
    x = net.add(join, {net.constant(Shape{kBatch, 1, width}, 1), x});
    x = net.add(Binary{Binary::Kind::add}, {x, net.constant(Shape{1, tokens, width}, 0.1f)});
    const ValueId all = net.transpose(
        net.reshape(net.product(net.norm(x), 3 * width), {kBatch, tokens, 3, kHeads, size}), {2, 0, 3, 1, 4});
    ValueId parts[3];
    for (std::int64_t i = 0; i < 3; ++i) parts[i] = net.add(Gather{0}, {all, net.place(i)});
    const ValueId scale = net.constant(Shape{}, 0, 1 / std::sqrt(static_cast<float>(size)));
    const ValueId scores = net.add(Binary{Binary::Kind::mul},
                                   {net.add(MatMul{}, {parts[0], net.transpose(parts[1], {0, 1, 3, 2})}), scale});
    const ValueId mixed = net.add(MatMul{}, {net.add(Softmax{}, {scores}), parts[2]});
    const ValueId heads = net.reshape(net.transpose(mixed, {0, 2, 1, 3}), {kBatch, tokens, width});
    x = net.add(Binary{Binary::Kind::add}, {x, net.product(heads, width)});
    const ValueId y = net.product(net.add(Gather{1}, {net.norm(x), net.place(0)}), 10);
    const std::vector<std::string> ops = simulated(net, y, 0.995);
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "scaled_dot_product_attention"), 1) << size;
  }
}

TEST(MovedElements, TokensAreAveraged) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId tokens = net.norm(net.transpose(net.conv(net.x, 32, 3), {0, 2, 3, 1}));
  Reduce mean;
  mean.kind = Reduce::Kind::mean;
  mean.axes = {1, 2};
  mean.keep_dims = false;
  simulated(net, net.product(net.add(mean, {tokens}), 10), 0.995);
}

TEST(MovedElements, EveryOtherRowAndColumn) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId tokens = net.norm(net.transpose(net.conv(net.x, 32, 3), {0, 2, 3, 1}));
  std::vector<ValueId> parts;
  for (const std::int64_t column : {0, 1})
    for (const std::int64_t row : {0, 1})
      parts.push_back(net.add(Slice{}, {tokens, net.integers({row, column}), net.integers({8, 8}), net.integers({1, 2}),
                                        net.integers({2, 2})}));
  Concat join;
  join.axis = -1;
  simulated(net, net.product(net.norm(net.add(join, parts)), 64));
}

TEST(MovedElements, RowsAreMadeOfLengthOne) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId tokens = net.norm(net.transpose(net.conv(net.x, 32, 3), {0, 2, 3, 1}));
  Reduce norm;
  norm.kind = Reduce::Kind::l2;
  norm.axes = {-1};
  const ValueId length = net.add(Expand{}, {net.add(norm, {tokens}), net.integers({2, 8, 8, 32})});
  const std::vector<std::string> ops = simulated(net, net.add(Binary{Binary::Kind::div}, {tokens, length}));
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "sum"), 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "repeat"), 1);
}

TEST(MovedElements, EachPixelHasTheLargestOfItsChannels) {
  for (const Reduce::Kind kind : {Reduce::Kind::max, Reduce::Kind::mean, Reduce::Kind::sum}) {
    Net net(Shape{2, 3, 8, 8});
    const ValueId image = net.conv(net.x, 32, 3);
    Reduce reduce;
    reduce.kind = kind;
    reduce.axes = {1};
    simulated(net, net.add(Binary{Binary::Kind::mul}, {image, net.add(reduce, {image})}), 0.99);
  }
}

TEST(MovedElements, MoreIsPutAroundTokens) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId tokens = net.norm(net.transpose(net.conv(net.x, 32, 3), {0, 2, 3, 1}));
  const ValueId padded = net.add(Pad{}, {tokens, net.integers({0, 0, 1, 0, 0, 2, 3, 0})});
  const std::vector<std::string> ops = simulated(net, net.product(padded, 16));
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "pad"), 1);
}

TEST(MovedElements, MatricesThatAreBothComputed) {
  Net net(Shape{2, 3, 8, 8});
  const ValueId rows = net.reshape(net.conv(net.x, 24, 3), {2, 3, 8, 64});
  const ValueId other = net.transpose(net.reshape(net.conv(net.x, 24, 1), {2, 3, 8, 64}), {0, 1, 3, 2});
  const std::vector<std::string> ops = simulated(net, net.add(MatMul{}, {rows, other}));
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "matmul"), 1);
}

TEST(MovedElements, ImagesOfAnySize) {
  struct Case {
    Resize::Mode mode;
    Resize::Coordinates coordinates;
    std::vector<std::int64_t> size;
  };
  for (const Case& each : {Case{Resize::Mode::linear, Resize::Coordinates::half_pixel, {12, 16}},
                           Case{Resize::Mode::linear, Resize::Coordinates::align_corners, {16, 16}},
                           Case{Resize::Mode::linear, Resize::Coordinates::pytorch_half_pixel, {4, 8}},
                           Case{Resize::Mode::cubic, Resize::Coordinates::half_pixel, {8, 12}},
                           Case{Resize::Mode::nearest, Resize::Coordinates::asymmetric, {11, 5}}}) {
    Net net(Shape{2, 3, 8, 8});
    Resize op;
    op.mode = each.mode;
    op.coordinates = each.coordinates;
    const ValueId none = net.graph.add_constant("none", Array(ElementType::float32, Shape{0}));
    simulated(net, net.add(op, {net.conv(net.x, 5, 3), none, none, net.integers({2, 5, each.size[0], each.size[1]})}));
  }
}

}  // namespace
}  // namespace tessera::tensix
