#include "pass_testing.h"

#include <functional>
#include <numbers>

namespace tessera {
namespace {

using Kind = Unary::Kind;
using Arithmetic = Binary::Kind;

struct Spelled {
  Graph graph;
  PassInputs random{61};
  ElementType type;
  Shape shape;
  ValueId x;

  explicit Spelled(ElementType t = ElementType::float32, Shape s = Shape{2, 3, 5})
      : type(t), shape(std::move(s)), x(graph.add_input("x", TensorType(t, shape))) {}

  ValueId number(double value) {
    Array array(type, Shape{});
    visit_floating_type(type, "a test", [&](auto tag) {
      using T = typename decltype(tag)::type;
      array.as<T>()[0] = static_cast<T>(static_cast<float>(value));
    });
    return graph.add_constant("number", array);
  }
  ValueId u(Kind kind, ValueId a, float alpha = 0, float beta = 0) {
    return graph.add("u", Unary{kind, alpha, beta}, {a});
  }
  ValueId b(Arithmetic kind, ValueId p, ValueId q) { return graph.add("b", Binary{kind}, {p, q}); }
  ValueId mul(ValueId p, ValueId q) { return b(Arithmetic::mul, p, q); }
  ValueId add(ValueId p, ValueId q) { return b(Arithmetic::add, p, q); }
  ValueId div(ValueId p, ValueId q) { return b(Arithmetic::div, p, q); }
  ValueId clip(ValueId p, ValueId low, ValueId high) { return graph.add("clip", Clip{}, {p, low, high}); }

  std::vector<Array> inputs(double range = 4) { return {random.floating(shape, range, type)}; }
  Graph recognized(ValueId y) {
    graph.outputs = {y};
    return after_pass(graph, recognize_activations, inputs());
  }
  void expect_as_it_was(ValueId y) {
    graph.outputs = {y};
    expect_untouched(graph, recognize_activations, inputs());
  }
  void expect_kind(ValueId y, Kind kind) {
    const Graph after = recognized(y);
    ASSERT_EQ(node_list(after), "Unary");
    EXPECT_EQ(static_cast<int>(std::get<Unary>(after.nodes[0].op).kind), static_cast<int>(kind));
    EXPECT_EQ(after.nodes[0].inputs, after.inputs);
  }
};

using Spelling = std::function<ValueId(Spelled&)>;

void expect_each(const std::vector<Spelling>& spellings, Kind kind) {
  for (const ElementType type : {ElementType::float32, ElementType::float16})
    for (std::size_t i = 0; i < spellings.size(); ++i) {
      SCOPED_TRACE(testing::Message() << name(type) << ", spelling " << i);
      Spelled s(type);
      s.expect_kind(spellings[i](s), kind);
    }
}

TEST(RecognizeActivations, FindsSilu) {
  expect_each({[](Spelled& s) { return s.mul(s.x, s.u(Kind::sigmoid, s.x)); },
               [](Spelled& s) { return s.mul(s.u(Kind::sigmoid, s.x), s.x); }},
              Kind::silu);
}

TEST(RecognizeActivations, FindsMish) {
  expect_each({[](Spelled& s) { return s.mul(s.x, s.u(Kind::tanh, s.u(Kind::softplus, s.x))); }}, Kind::mish);
}

ValueId relu6_of_x_plus_3(Spelled& s) { return s.clip(s.add(s.x, s.number(3)), s.number(0), s.number(6)); }

TEST(RecognizeActivations, FindsHardSwishInItsOrders) {
  expect_each({[](Spelled& s) { return s.mul(s.x, s.u(Kind::hard_sigmoid, s.x, 1.0f / 6, 0.5f)); },
               [](Spelled& s) { return s.div(s.mul(s.x, relu6_of_x_plus_3(s)), s.number(6)); },
               [](Spelled& s) { return s.mul(s.mul(relu6_of_x_plus_3(s), s.x), s.number(1.0 / 6)); },
               [](Spelled& s) { return s.mul(s.x, s.div(relu6_of_x_plus_3(s), s.number(6))); },
               [](Spelled& s) { return s.mul(s.mul(s.x, s.number(1.0 / 6)), relu6_of_x_plus_3(s)); },
               [](Spelled& s) {
                 return s.div(s.mul(s.x, s.b(Arithmetic::min,
                                             s.b(Arithmetic::max, s.add(s.number(3), s.x), s.number(0)), s.number(6))),
                              s.number(6));
               },
               [](Spelled& s) {
                 return s.mul(s.x, s.clip(s.add(s.div(s.x, s.number(6)), s.number(0.5)), s.number(0), s.number(1)));
               }},
              Kind::hard_swish);
}

TEST(RecognizeActivations, FindsHardSigmoid) {
  expect_each(
      {[](Spelled& s) { return s.div(relu6_of_x_plus_3(s), s.number(6)); },
       [](Spelled& s) { return s.clip(s.add(s.mul(s.x, s.number(0.2)), s.number(0.5)), s.number(0), s.number(1)); }},
      Kind::hard_sigmoid);
}

// A bound of 6 alone does not make one: 3 must have been added before.
TEST(RecognizeActivations, OtherSumsUnderABoundOfSixAreNoHardSigmoid) {
  for (const double added : {2.0, 4.0}) {
    Spelled s;
    const ValueId bounded = s.clip(s.add(s.x, s.number(added)), s.number(0), s.number(6));
    s.expect_as_it_was(s.div(bounded, s.number(6)));
  }
  Spelled s;
  s.expect_as_it_was(s.div(s.clip(s.x, s.number(0), s.number(6)), s.number(6)));
}

TEST(RecognizeActivations, FindsGeluByErf) {
  const auto erf = [](Spelled& s) {
    return s.add(s.u(Kind::erf, s.div(s.x, s.number(std::numbers::sqrt2))), s.number(1));
  };
  const auto erf_by_product = [](Spelled& s) {
    return s.add(s.number(1), s.u(Kind::erf, s.mul(s.x, s.number(1 / std::numbers::sqrt2))));
  };
  expect_each({[&](Spelled& s) { return s.mul(s.mul(s.x, erf(s)), s.number(0.5)); },
               [&](Spelled& s) { return s.mul(s.mul(s.x, s.number(0.5)), erf(s)); },
               [&](Spelled& s) { return s.mul(s.x, s.mul(s.number(0.5), erf_by_product(s))); },
               [&](Spelled& s) { return s.div(s.mul(erf_by_product(s), s.x), s.number(2)); }},
              Kind::gelu);
}

TEST(RecognizeActivations, FindsGeluByTanh) {
  const double root = std::sqrt(2 / std::numbers::pi);
  expect_each({[&](Spelled& s) {
                 const ValueId cube = s.b(Arithmetic::pow, s.x, s.number(3));
                 const ValueId inner = s.mul(s.number(root), s.add(s.x, s.mul(s.number(0.044715), cube)));
                 return s.mul(s.mul(s.number(0.5), s.x), s.add(s.number(1), s.u(Kind::tanh, inner)));
               },
               [&](Spelled& s) {
                 const ValueId square = s.mul(s.x, s.x);
                 const ValueId inner =
                     s.mul(s.mul(s.x, s.number(root)), s.add(s.mul(s.number(0.044715), square), s.number(1)));
                 return s.mul(s.mul(s.x, s.add(s.u(Kind::tanh, inner), s.number(1))), s.number(0.5));
               }},
              Kind::gelu_tanh);
}

TEST(RecognizeActivations, LeavesDoublesTheirOwnConstants) {
  Spelled s(ElementType::float64);
  s.expect_as_it_was(s.mul(s.mul(s.x, s.number(1.0 / 6)), relu6_of_x_plus_3(s)));
  Spelled silu(ElementType::float64);
  silu.expect_kind(silu.mul(silu.x, silu.u(Kind::sigmoid, silu.x)), Kind::silu);
}

TEST(RecognizeActivations, MakesOneClipOfBoundsInARow) {
  {
    Spelled s;
    const Graph after = s.recognized(s.b(Arithmetic::min, s.u(Kind::relu, s.x), s.number(6)));
    ASSERT_EQ(node_list(after), "Clip");
    EXPECT_EQ(after.nodes[0].inputs.size(), 3U);
  }
  {
    Spelled s;
    EXPECT_EQ(node_list(s.recognized(s.clip(s.u(Kind::relu, s.x), s.number(-1), s.number(2)))), "Clip");
  }
  {
    Spelled s;  // bounds that do not meet: everything ends at 2
    EXPECT_EQ(node_list(s.recognized(s.clip(s.clip(s.x, s.number(-1), s.number(1)), s.number(2), s.number(3)))),
              "Clip");
  }
  {
    Spelled s;
    s.expect_kind(s.b(Arithmetic::max, s.number(0), s.x), Kind::relu);
  }
  {
    Spelled s;
    s.expect_kind(s.clip(s.x, s.number(0), kNoValue), Kind::relu);
  }
  {
    Spelled s;
    s.expect_kind(s.u(Kind::relu, s.u(Kind::relu, s.x)), Kind::relu);
  }
  {
    Spelled s;  // nothing is left out of nothing but an output must be made by someone
    s.expect_as_it_was(s.clip(s.x, kNoValue, kNoValue));
  }
}

TEST(RecognizeActivations, PassesSpecialValuesThroughBounds) {
  Spelled s(ElementType::float32, Shape{6});
  s.graph.outputs = {s.b(Arithmetic::min, s.b(Arithmetic::max, s.x, s.number(-1)), s.number(6))};
  const float inf = std::numeric_limits<float>::infinity();
  after_pass(s.graph, recognize_activations,
             {floats({6}, {std::numeric_limits<float>::quiet_NaN(), inf, -inf, -0.0f, 1e-42f, 3e38f})});
}

TEST(RecognizeActivations, LeavesBoundsThatAreNotInOrderOrNotNumbers) {
  Spelled crossed;
  crossed.expect_as_it_was(crossed.clip(crossed.x, crossed.number(2), crossed.number(1)));
  Spelled nan;
  nan.expect_as_it_was(nan.clip(nan.x, nan.number(std::nan("")), nan.number(1)));
  Spelled tensor;
  tensor.expect_as_it_was(
      tensor.b(Arithmetic::min, tensor.x, tensor.graph.add_constant("c", floats({5}, {1, 2, 3, 4, 5}))));
  Spelled wider;
  wider.expect_as_it_was(wider.b(Arithmetic::max, wider.x, wider.graph.add_constant("c", floats({1, 1, 1, 1}, {0}))));
}

TEST(RecognizeActivations, FindsLayerNorm) {
  for (const bool power : {true, false})
    for (const std::int64_t axes : {1, 2}) {
      Spelled s;
      const Reduce mean{Reduce::Kind::mean,
                        axes == 1 ? std::vector<std::int64_t>{-1} : std::vector<std::int64_t>{1, 2}};
      const ValueId centred = s.b(Arithmetic::sub, s.x, s.graph.add("mean", mean, {s.x}));
      const ValueId square = power ? s.b(Arithmetic::pow, centred, s.number(2)) : s.mul(centred, centred);
      const ValueId deviation = s.u(Kind::sqrt, s.add(s.graph.add("variance", mean, {square}), s.number(1e-3)));
      const Shape tail = axes == 1 ? Shape{5} : Shape{3, 5};
      const ValueId scaled = s.mul(s.div(centred, deviation), s.graph.add_constant("gamma", s.random.floating(tail)));
      const Graph after = s.recognized(s.add(scaled, s.graph.add_constant("beta", s.random.floating(tail))));
      ASSERT_EQ(node_list(after), "LayerNorm");
      EXPECT_EQ(after.nodes[0].inputs.size(), 3U);
      EXPECT_EQ(std::get<LayerNorm>(after.nodes[0].op).epsilon, 1e-3f);
      EXPECT_EQ(std::get<LayerNorm>(after.nodes[0].op).axis, 3 - axes);
    }
}

TEST(RecognizeActivations, LeavesNormsOverOtherAxes) {
  Spelled s;
  const Reduce mean{Reduce::Kind::mean, {1}}, last{Reduce::Kind::mean, {2}};
  const ValueId centred = s.b(Arithmetic::sub, s.x, s.graph.add("mean", mean, {s.x}));
  const ValueId deviation =
      s.u(Kind::sqrt, s.add(s.graph.add("variance", last, {s.mul(centred, centred)}), s.number(1e-3)));
  s.expect_as_it_was(s.mul(s.div(centred, deviation), s.graph.add_constant("gamma", s.random.floating({5}))));
}

TEST(RecognizeActivations, MakesPowersAndDivisionsCheaper) {
  Spelled square;
  EXPECT_EQ(node_list(square.recognized(square.b(Arithmetic::pow, square.x, square.number(2)))), "Binary");
  Spelled root;
  root.graph.outputs = {root.b(Arithmetic::pow, root.x, root.number(0.5))};
  const Graph after = after_pass(root.graph, recognize_activations, {root.random.positive(root.shape)});
  EXPECT_EQ(std::get<Unary>(after.nodes[0].op).kind, Kind::sqrt);
  Spelled by_eight;
  const Graph product = by_eight.recognized(by_eight.div(by_eight.x, by_eight.number(8)));
  EXPECT_EQ(std::get<Binary>(product.nodes[0].op).kind, Arithmetic::mul);
  Spelled by_three;
  by_three.expect_as_it_was(by_three.div(by_three.x, by_three.number(3)));
  Spelled by_zero;
  by_zero.expect_as_it_was(by_zero.div(by_zero.x, by_zero.number(0)));
  Spelled too_small(ElementType::float16);  // 2^-24 has no inverse in half precision
  too_small.expect_as_it_was(too_small.div(too_small.x, too_small.number(0x1p-24)));
}

TEST(RecognizeActivations, FindsAveragesOverImages) {
  Spelled keeps(ElementType::float32, Shape{2, 3, 4, 5});
  EXPECT_EQ(node_list(keeps.recognized(keeps.graph.add("m", Reduce{Reduce::Kind::mean, {3, 2}}, {keeps.x}))),
            "GlobalPool");
  Spelled drops(ElementType::float32, Shape{2, 3, 4, 5});
  const Reduce mean{.kind = Reduce::Kind::mean, .axes = {-1, -2}, .keep_dims = false};
  EXPECT_EQ(node_list(drops.recognized(drops.graph.add("m", mean, {drops.x}))), "GlobalPool Flatten");
  Spelled channels(ElementType::float32, Shape{2, 3, 4, 5});
  channels.expect_as_it_was(channels.graph.add("m", Reduce{Reduce::Kind::mean, {1, 2}}, {channels.x}));
}

TEST(RecognizeActivations, LeavesWhatOnlyLooksAlike) {
  Spelled other;  // the sigmoid of something else
  other.expect_as_it_was(other.mul(other.x, other.u(Kind::sigmoid, other.u(Kind::tanh, other.x))));
  Spelled shared;  // the sigmoid is needed anyway
  const ValueId sigmoid = shared.u(Kind::sigmoid, shared.x);
  shared.expect_as_it_was(shared.add(shared.mul(shared.x, sigmoid), sigmoid));
  Spelled sevenths;
  sevenths.expect_as_it_was(sevenths.div(sevenths.mul(sevenths.x, relu6_of_x_plus_3(sevenths)), sevenths.number(7)));
  Spelled other_gate;
  other_gate.expect_as_it_was(other_gate.mul(other_gate.x, other_gate.u(Kind::hard_sigmoid, other_gate.x, 0.2f, 0.5f)));
  Spelled not_gelu;
  not_gelu.expect_as_it_was(
      not_gelu.mul(not_gelu.mul(not_gelu.x, not_gelu.add(not_gelu.u(Kind::erf, not_gelu.x), not_gelu.number(1))),
                   not_gelu.number(0.5)));
}

}  // namespace
}  // namespace tessera
