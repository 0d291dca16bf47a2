#include "pass_testing.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// A graph of float arithmetic between quantised values.
class Qdq {
 public:
  explicit Qdq(unsigned seed) : random_(seed) {}

  Graph graph;
  ElementType type = ElementType::uint8;

  ValueId input(Shape shape) { return graph.add_input("x", TensorType(ElementType::float32, std::move(shape))); }
  // Through bytes and back. Without a scale: such that numbers of that size fill the type.
  ValueId bytes(ValueId x, float scale, std::int64_t zero) {
    return back(graph.add("q" + next(), QuantizeLinear{}, {x, real(scale), byte(zero)}), scale, zero);
  }
  ValueId back(ValueId q, float scale, std::int64_t zero) {
    return graph.add("dq" + next(), DequantizeLinear{}, {q, real(scale), byte(zero)});
  }
  ValueId weights(Shape shape, bool per_channel, std::int64_t axis = 0) {
    Array w(ElementType::int8, shape);
    for (std::byte& b : w.bytes()) b = static_cast<std::byte>(random_());
    const Shape per = per_channel ? Shape{shape[static_cast<int>(axis)]} : Shape{};
    Array scales(ElementType::float32, per);
    for (float& s : scales.as<float>()) s = draw(0.001, 0.004);
    w_scales = scales;
    return graph.add("w" + next(), DequantizeLinear{.axis = axis},
                     {graph.add_constant("w", std::move(w)), graph.add_constant("ws", std::move(scales)),
                      graph.add_constant("wz", Array(ElementType::int8, per))});
  }
  // A bias in steps of x scale * w scale, as quantisers write it.
  ValueId bias(std::int64_t channels, float x_scale) {
    Array steps(ElementType::int32, Shape{channels});
    for (std::int32_t& v : steps.as<std::int32_t>()) v = static_cast<std::int32_t>(random_() % 4001) - 2000;
    Array scales = w_scales;
    for (float& s : scales.as<float>()) s *= x_scale;
    return graph.add("b" + next(), DequantizeLinear{.axis = 0},
                     {graph.add_constant("b", std::move(steps)), graph.add_constant("bs", std::move(scales))});
  }
  ValueId real(float value) { return graph.add_constant("s", Array::scalar(value)); }
  ValueId byte(std::int64_t value) {
    Array out(type, Shape{});
    out.bytes()[0] = static_cast<std::byte>(value);
    return graph.add_constant("z", std::move(out));
  }
  Array random_input(Shape shape) {
    Array out(ElementType::float32, std::move(shape));
    for (float& v : out.as<float>()) v = draw(-3, 3);
    return out;
  }
  float draw(double low, double high) {
    return static_cast<float>(std::uniform_real_distribution<double>(low, high)(random_));
  }
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

 private:
  std::string next() { return std::to_string(count_++); }

  std::mt19937 random_;
  int count_ = 0;
  Array w_scales{ElementType::float32, Shape{}};
};

// How many steps of the result's scale apart a float that is one may be: float rounds a sum of K products by some
// K / 2^24 of it, which moves a result to the next step only if it lay that close to the middle of two. Of results
// within 256 steps, that is fewer than one in a thousand for the sums here.
void expect_within_a_step(const Graph& before, const Graph& after, const Array& x, float step, bool exact = false) {
  verify(after);
  const Array wanted = evaluate(before, {x})[0], found = evaluate(after, {x})[0];
  ASSERT_EQ(found.shape(), wanted.shape());
  ASSERT_EQ(found.type(), wanted.type());
  const std::vector<double> f = found.to_double(), w = wanted.to_double();
  std::size_t differ = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (f[i] == w[i]) continue;
    ++differ;
    ASSERT_LE(std::abs(f[i] - w[i]), 1.001 * static_cast<double>(step)) << "element " << i << " of " << f.size();
  }
  EXPECT_LE(differ, exact ? 0 : 1 + f.size() / 1000) << "of " << f.size();
}

Graph fused(const Graph& before) {
  Graph after = before;
  infer_types(after);
  EXPECT_TRUE(fuse_quantization(after));
  infer_types(after);
  EXPECT_FALSE(fuse_quantization(after)) << "a second run changed something";
  return after;
}

TEST(FuseQuantization, MakesAConvolutionWithItsBoundsOneNode) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Qdq q(seed);
    q.type = seed % 2 == 0 ? ElementType::uint8 : ElementType::int8;
    const std::int64_t ic = q.pick(1, 9), oc = q.pick(1, 12), groups = seed % 5 == 0 ? 2 : 1;
    const std::int64_t zero = q.type == ElementType::uint8 ? q.pick(0, 255) : q.pick(-128, 127);
    const float x_scale = q.draw(0.01, 0.05), y_scale = q.draw(0.01, 0.05);
    const Shape shape{2, ic * groups, 7, 6};
    const ValueId x = q.bytes(q.input(shape), x_scale, zero);
    std::vector<ValueId> inputs{x, q.weights(Shape{oc * groups, ic, 3, 2}, seed % 3 != 0)};
    if (seed % 4 == 1) inputs.push_back(q.bias(oc * groups, x_scale));
    if (seed % 4 == 2) {
      Array bias(ElementType::float32, Shape{oc * groups});
      for (float& b : bias.as<float>()) b = q.draw(-1, 1);
      inputs.push_back(q.graph.add_constant("bias", std::move(bias)));
    }
    Conv conv;
    conv.window.pads = {1, 0, 2, 1};
    conv.groups = groups;
    ValueId y = q.graph.add("conv", conv, inputs);
    if (seed % 3 == 1) y = q.graph.add("relu", Unary{Unary::Kind::relu}, {y});
    if (seed % 3 == 2) y = q.graph.add("clip", Clip{}, {y, q.real(-0.3f), q.real(0.7f)});
    q.graph.outputs = {q.bytes(y, y_scale, q.type == ElementType::uint8 ? 100 : -20)};
    const Graph after = fused(q.graph);
    EXPECT_EQ(node_list(after), seed % 3 == 0 ? "QuantizeLinear QLinearConv DequantizeLinear"
                                              : "QuantizeLinear QLinearConv+Clip DequantizeLinear");
    expect_within_a_step(q.graph, after, q.random_input(shape), y_scale);
  }
}

TEST(FuseQuantization, GivesAResidualSumToTheLaterConvolution) {
  Qdq q(1);
  const Shape shape{1, 6, 8, 8};
  const ValueId x = q.bytes(q.input(shape), 0.02f, 128);
  const auto conv = [&](ValueId from) {
    const ValueId w = q.weights(Shape{6, 6, 1, 1}, true);
    return q.bytes(q.graph.add("conv", Conv{}, {from, w}), 0.03f, 120);
  };
  const ValueId left = conv(x), right = conv(x);
  const ValueId sum = q.graph.add("sum", Binary{Binary::Kind::add}, {right, left});
  q.graph.outputs = {q.bytes(q.graph.add("relu", Unary{Unary::Kind::relu}, {sum}), 0.04f, 3)};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after), "QuantizeLinear QLinearConv QLinearConv+QLinearAdd+Clip DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.04f);
}

TEST(FuseQuantization, LeavesASumWhoseOperandsOthersReadToItself) {
  Qdq q(2);
  const Shape shape{1, 3, 5, 5};
  const ValueId x = q.bytes(q.input(shape), 0.02f, 128);
  const ValueId y = q.bytes(q.graph.add("turn", Transpose{.perm = {0, 1, 3, 2}}, {x}), 0.03f, 0);
  const ValueId sum = q.graph.add("sum", Binary{Binary::Kind::add}, {x, y});
  q.graph.outputs = {q.bytes(sum, 0.05f, 60)};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after), "QuantizeLinear ByteLookup Transpose QLinearAdd DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.05f, true);
}

TEST(FuseQuantization, MakesDenseLayersConvolutionsOfOnePixel) {
  for (const bool transposed : {false, true}) {
    Qdq q(3);
    const Shape shape{5, 11};
    const ValueId x = q.bytes(q.input(shape), 0.025f, 128);
    const ValueId w = q.weights(transposed ? Shape{7, 11} : Shape{11, 7}, true, transposed ? 0 : 1);
    const ValueId y = q.graph.add("gemm", Gemm{.transpose_b = transposed}, {x, w, q.bias(7, 0.025f)});
    q.graph.outputs = {q.bytes(y, 0.01f, 128)};
    const Graph after = fused(q.graph);
    EXPECT_EQ(node_list(after), "QuantizeLinear Reshape QLinearConv Reshape DequantizeLinear");
    expect_within_a_step(q.graph, after, q.random_input(shape), 0.01f);
  }
}

TEST(FuseQuantization, MultipliesMatricesWithConstantOnesAndOthers) {
  Qdq q(4);
  const Shape shape{2, 5, 5};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 128);
  const ValueId w = q.weights(Shape{5, 5}, true, 1);
  const ValueId y = q.bytes(q.graph.add("constant", MatMul{}, {x, w}), 0.01f, 128);
  q.graph.outputs = {q.bytes(q.graph.add("both", MatMul{}, {y, x}), 0.1f, 100)};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after), "QuantizeLinear QLinearMatMul QLinearMatMul DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.1f);
}

TEST(FuseQuantization, AveragesImages) {
  Qdq q(5);
  const Shape shape{2, 9, 7, 7};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 128);
  const ValueId y = q.graph.add("mean", GlobalPool{.kind = GlobalPool::Kind::average}, {x});
  q.graph.outputs = {q.bytes(y, 0.004f, 128)};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after), "QuantizeLinear QLinearGlobalAveragePool DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.004f);
}

TEST(FuseQuantization, MovesBytesExactly) {
  Qdq q(6);
  const Shape shape{1, 4, 6, 6};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 128);
  MaxPool pool;
  pool.window.kernel = {2, 2};
  pool.window.strides = {2, 2};
  const ValueId a = q.bytes(q.graph.add("pool", pool, {x}), 0.025f, 128);
  const ValueId b = q.bytes(q.graph.add("turn", Transpose{.perm = {0, 1, 3, 2}}, {a}), 0.03f, 90);
  q.graph.outputs = {q.bytes(q.graph.add("join", Concat{.axis = 1}, {a, b}), 0.025f, 128)};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after), "QuantizeLinear MaxPool ByteLookup Transpose ByteLookup Concat DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.025f, true);
}

TEST(FuseQuantization, TabulatesFunctionsOfAByteExactly) {
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    Qdq q(7);
    q.type = type;
    const Shape shape{3, 50};
    ValueId y = q.bytes(q.input(shape), 0.025f, 20);
    y = q.graph.add("sigmoid", Unary{Unary::Kind::sigmoid}, {y});
    y = q.graph.add("clip", Clip{}, {y, q.real(0.1f), q.real(0.9f)});
    q.graph.outputs = {q.bytes(y, 0.005f, -100)};
    const Graph after = fused(q.graph);
    EXPECT_EQ(node_list(after), "QuantizeLinear ByteLookup DequantizeLinear");
    expect_within_a_step(q.graph, after, q.random_input(shape), 0.005f, true);
  }
}

TEST(FuseQuantization, FollowsAllWaysFromOneByte) {
  Qdq q(13);
  const Shape shape{3, 50};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 120);
  const ValueId gate = q.bytes(q.graph.add("gate", Unary{Unary::Kind::sigmoid}, {x}), 0.004f, 0);
  const ValueId y = q.bytes(q.graph.add("silu", Binary{Binary::Kind::mul}, {x, gate}), 0.02f, 20);
  const ValueId half = q.graph.add_constant("half", Array::of<float>(Shape{1, 1}, std::vector<float>{0.5f}));
  q.graph.outputs = {q.bytes(q.graph.add("less", Binary{Binary::Kind::sub}, {half, y}), 0.02f, 100)};
  Graph after = fused(q.graph);
  remove_dead_code(after);
  EXPECT_EQ(node_list(after), "QuantizeLinear ByteLookup DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.02f, true);
}

TEST(FuseQuantization, DoesNotTabulateSumsOfTwoTensors) {
  Qdq q(14);
  const Shape shape{3, 50};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 120);
  const ValueId turned =
      q.bytes(q.graph.add("turn", Reshape{}, {x, q.graph.add_constant("shape", int64s({3, 50}))}), 0.025f, 120);
  q.graph.outputs = {q.bytes(q.graph.add("mul", Binary{Binary::Kind::mul}, {x, turned}), 0.02f, 20)};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after),
            "QuantizeLinear DequantizeLinear Reshape DequantizeLinear Binary QuantizeLinear "
            "DequantizeLinear");
}

// A step of the sums is the product of both scales; in subnormal numbers it keeps too few bits.
TEST(FuseQuantization, LeavesConvolutionsWhoseStepIsSubnormal) {
  for (const float x_scale : {0.02f, 2e-36f}) {
    Qdq q(15);
    const ValueId x = q.bytes(q.input(Shape{1, 2, 5, 5}), x_scale, 120);
    const ValueId y = q.graph.add("conv", Conv{}, {x, q.weights(Shape{3, 2, 2, 2}, true)});
    q.graph.outputs = {q.bytes(y, 0.02f, 100)};
    Graph after = q.graph;
    infer_types(after);
    fuse_quantization(after);
    EXPECT_EQ(node_list(after).find("QLinearConv") != std::string::npos, x_scale == 0.02f);
  }
}

TEST(FuseQuantization, DropsPairsThatUndoEachOther) {
  Qdq q(8);
  const Shape shape{3, 50};
  const ValueId y = q.bytes(q.bytes(q.input(shape), 0.025f, 20), 0.025f, 20);
  q.graph.outputs = {y};
  const Graph after = fused(q.graph);
  EXPECT_EQ(node_list(after), "QuantizeLinear DequantizeLinear");
  expect_within_a_step(q.graph, after, q.random_input(shape), 0.025f, true);
}

TEST(FuseQuantization, LeavesWhatOthersReadInFloat) {
  Qdq q(9);
  const Shape shape{1, 4, 6, 6};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 128);
  const ValueId y = q.graph.add("conv", Conv{}, {x, q.weights(Shape{4, 4, 1, 1}, true)});
  q.graph.outputs = {q.bytes(y, 0.02f, 128), y};
  Graph after = q.graph;
  EXPECT_FALSE(fuse_quantization(after));
}

TEST(FuseQuantization, LeavesABiasThatItsStepsWouldRoundVisibly) {
  Qdq q(10);
  const Shape shape{1, 4, 6, 6};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 128), w = q.weights(Shape{4, 4, 1, 1}, false);
  Array bias(ElementType::float32, Shape{4});
  for (float& b : bias.as<float>()) b = 1e-5f;
  const ValueId y = q.graph.add("conv", Conv{}, {x, w, q.graph.add_constant("bias", std::move(bias))});
  q.graph.outputs = {q.bytes(y, 1e-4f, 128)};
  Graph after = q.graph;
  EXPECT_FALSE(fuse_quantization(after));
}

TEST(FuseQuantization, LeavesScalesThatAreComputed) {
  Qdq q(11);
  const Shape shape{1, 4, 6, 6};
  const ValueId x = q.bytes(q.input(shape), 0.025f, 128), w = q.weights(Shape{4, 4, 1, 1}, false);
  const ValueId scale = q.graph.add_input("scale", TensorType(ElementType::float32, Shape{}));
  const ValueId y = q.graph.add("conv", Conv{}, {x, w});
  q.graph.outputs = {q.graph.add("q", QuantizeLinear{}, {y, scale, q.byte(3)})};
  Graph after = q.graph;
  EXPECT_FALSE(fuse_quantization(after));
}

TEST(FuseQuantization, SurvivesTheOtherPasses) {
  Qdq q(12);
  const Shape shape{1, 3, 9, 9};
  ValueId x = q.bytes(q.input(shape), 0.025f, 128);
  std::int64_t channels = 3;
  for (int layer = 0; layer < 3; ++layer) {
    const ValueId w = q.weights(Shape{8, channels, 3, 3}, true);
    Conv conv;
    conv.window.pads = {1, 1, 1, 1};
    const ValueId y = q.graph.add("conv" + std::to_string(layer), conv, {x, w, q.bias(8, 0.025f)});
    const ValueId z = q.bytes(q.graph.add("relu", Unary{Unary::Kind::relu}, {y}), 0.025f, 0);
    x = channels == 8 ? q.bytes(q.graph.add("sum", Binary{Binary::Kind::add}, {z, x}), 0.025f, 0) : z;
    channels = 8;
  }
  q.graph.outputs = {x};
  Graph after = q.graph;
  run_passes(after);
  EXPECT_EQ(node_list(after),
            "QuantizeLinear QLinearConv QLinearConv+QLinearAdd QLinearConv+QLinearAdd DequantizeLinear");
  Graph plain = q.graph;
  run_passes(plain, {.off = {"fuse_quantization"}});
  // A difference of one step in one layer may be some steps in the next: only the share is bounded here.
  const Array in = q.random_input(shape);
  const std::vector<double> wanted = evaluate(q.graph, {in})[0].to_double();
  for (const Graph& graph : {after, plain}) {
    const std::vector<double> found = evaluate(graph, {in})[0].to_double();
    ASSERT_EQ(found.size(), wanted.size());
    std::size_t differ = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) differ += wanted[i] != found[i] ? 1 : 0;
    EXPECT_LE(differ, wanted.size() / 100);
  }
}

}  // namespace
}  // namespace tessera
