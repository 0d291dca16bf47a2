// Operators of com.microsoft against what they stand for, worked out by hand or by the operators of ONNX itself.

#include "tessera/io/onnx/import.h"

#include "model_builder.h"

#include "tessera/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::onnx {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

Array floats(Shape shape, std::vector<float> values) { return Array::of<float>(std::move(shape), values); }

Array small(Shape shape, std::vector<std::uint8_t> values) { return Array::of<std::uint8_t>(std::move(shape), values); }

class Microsoft : public testing::Test {
 protected:
  Microsoft() {
    auto& import = *model.model.add_opset_import();
    import.set_domain("com.microsoft");
    import.set_version(1);
    model.output("y");
  }

  pb::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs) {
    pb::NodeProto& made = model.node(op, inputs, {"y"});
    made.set_domain("com.microsoft");
    return made;
  }
  static void text(pb::NodeProto& node, const std::string& name, const std::string& value) {
    ModelBuilder::attribute(node, name, pb::AttributeProto::STRING).set_s(value);
  }
  void bytes(const std::string& name, const std::vector<std::int64_t>& dims, const std::vector<int>& values,
             int type = pb::TensorProto::UINT8) {
    pb::TensorProto& tensor = model.initializer(name, dims, type);
    for (const int value : values) tensor.add_int32_data(value);
  }
  template <class T = float>
  std::vector<T> run(const std::vector<Array>& inputs) {
    const std::vector<Array> outputs = evaluate(import_onnx_bytes(model.bytes()), inputs);
    return {outputs.at(0).as<T>().begin(), outputs.at(0).as<T>().end()};
  }
  // A few roundings of float32 at this magnitude.
  static auto near(float magnitude) { return FloatNear(8 * std::numeric_limits<float>::epsilon() * magnitude); }

  ModelBuilder model;
};

TEST_F(Microsoft, FusedConvAddsTheFourthInputBeforeItsActivation) {
  model.input("x", {1, 1, 3});
  model.input("z", {1, 1, 3});
  model.floats("w", {1, 1, 1}, {2});
  model.floats("b", {1}, {1});
  text(node("FusedConv", {"x", "w", "b", "z"}), "activation", "Relu");
  EXPECT_THAT(run({floats({1, 1, 3}, {1, -2, 3}), floats({1, 1, 3}, {-4, 4, 1})}), ElementsAre(0, 1, 8));
}

TEST_F(Microsoft, FusedConvClipsBetweenItsParameters) {
  model.input("x", {1, 1, 3});
  model.floats("w", {1, 1, 1}, {1});
  pb::NodeProto& conv = node("FusedConv", {"x", "w"});
  text(conv, "activation", "Clip");
  auto& limits = ModelBuilder::attribute(conv, "activation_params", pb::AttributeProto::FLOATS);
  limits.add_floats(0);
  limits.add_floats(6);
  EXPECT_THAT(run({floats({1, 1, 3}, {-1, 3, 9})}), ElementsAre(0, 3, 6));
  conv.mutable_attribute(0)->set_s("Frobnicate");
  EXPECT_THAT([&] { import_onnx_bytes(model.bytes()); },
              testing::ThrowsMessage<Error>(HasSubstr("activation 'Frobnicate' is not known")));
}

TEST_F(Microsoft, FusedMatMulTurnsAndScales) {
  model.input("a", {2, 2});
  model.floats("b", {1, 2}, {1, 10});
  pb::NodeProto& product = node("FusedMatMul", {"a", "b"});
  ModelBuilder::integer(product, "transA", 1);
  ModelBuilder::integer(product, "transB", 1);
  ModelBuilder::real(product, "alpha", 0.5f);
  EXPECT_THAT(run({floats({2, 2}, {2, 4, 6, 8})}), ElementsAre(31, 42));
}

TEST_F(Microsoft, GelusAreTheirFormulas) {
  const std::vector<float> x = {-2, -0.5f, 0, 1, 3};
  const auto wanted = [&](auto formula) {
    std::vector<float> y;
    for (const float v : x) y.push_back(static_cast<float>(formula(static_cast<double>(v) + 0.25)));
    return y;
  };
  model.input("x", {5});
  model.floats("b", {1}, {0.25f});
  pb::NodeProto& gelu = node("BiasGelu", {"x", "b"});
  EXPECT_THAT(run({floats({5}, x)}),
              Pointwise(near(3), wanted([](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); })));
  gelu.set_op_type("FastGelu");
  EXPECT_THAT(run({floats({5}, x)}),
              Pointwise(near(3), wanted([](double v) {
                          return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
                        })));
}

TEST_F(Microsoft, QuickGeluIsASigmoid) {
  model.input("x", {2});
  node("QuickGelu", {"x"});
  EXPECT_THAT(run({floats({2}, {1, -2})}),
              Pointwise(near(2), std::vector<float>{static_cast<float>(1 / (1 + std::exp(-1.702))),
                                                    static_cast<float>(-2 / (1 + std::exp(3.404)))}));
}

TEST_F(Microsoft, SkipLayerNormalizationNormalisesTheSum) {
  model.input("x", {1, 2});
  model.input("skip", {1, 2});
  model.floats("scale", {2}, {1, 2});
  model.floats("shift", {2}, {0, 1});
  node("SkipLayerNormalization", {"x", "skip", "scale", "shift"});
  EXPECT_THAT(run({floats({1, 2}, {1, 2}), floats({1, 2}, {1, 4})}), ElementsAre(-1, 3));
}

TEST_F(Microsoft, AttentionOfOneHeadIsAWeightedSum) {
  model.input("q", {1, 1, 2});
  model.input("k", {1, 2, 2});
  model.input("v", {1, 2, 2});
  ModelBuilder::integer(node("MultiHeadAttention", {"q", "k", "v"}), "num_heads", 1);
  // Scores 0 and 1 / sqrt(2).
  const double p = 1 / (1 + std::exp(-1 / std::sqrt(2.0)));
  EXPECT_THAT(run({floats({1, 1, 2}, {1, 0}), floats({1, 2, 2}, {0, 5, 1, 5}), floats({1, 2, 2}, {0, 8, 4, 0})}),
              Pointwise(near(8), std::vector<float>{static_cast<float>(4 * p), static_cast<float>(8 * (1 - p))}));
}

TEST_F(Microsoft, QuantisedSumsRoundOnceAtTheEnd) {
  model.input("a", {3}, pb::TensorProto::UINT8);
  model.floats("as", {}, {0.5f});
  bytes("az", {}, {10});
  bytes("b", {1}, {3});
  model.floats("bs", {}, {0.25f});
  bytes("bz", {}, {1});
  model.floats("ys", {}, {1});
  bytes("yz", {}, {100});
  node("QLinearAdd", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"});
  // (a - 10) / 2 + 0.5, to the nearest, ties to even.
  EXPECT_THAT(run<std::uint8_t>({small({3}, {10, 13, 0})}), ElementsAre(100, 102, 96));
}

TEST_F(Microsoft, QuantisedConcatTakesEveryScale) {
  model.input("a", {2}, pb::TensorProto::UINT8);
  bytes("b", {1}, {8});
  model.floats("ys", {}, {1});
  bytes("yz", {}, {0});
  model.floats("as", {}, {2});
  bytes("az", {}, {1});
  model.floats("bs", {}, {0.5f});
  bytes("bz", {}, {0});
  ModelBuilder::integer(node("QLinearConcat", {"ys", "yz", "a", "as", "az", "b", "bs", "bz"}), "axis", 0);
  EXPECT_THAT(run<std::uint8_t>({small({2}, {1, 6})}), ElementsAre(0, 10, 4));
}

TEST_F(Microsoft, QuantisedPoolsTakeChannelsLast) {
  model.input("x", {1, 2, 1, 2}, pb::TensorProto::UINT8);
  model.floats("xs", {}, {1});
  bytes("xz", {}, {0});
  model.floats("ys", {}, {0.5f});
  bytes("yz", {}, {0});
  ModelBuilder::integer(node("QLinearGlobalAveragePool", {"x", "xs", "xz", "ys", "yz"}), "channels_last", 1);
  EXPECT_THAT(run<std::uint8_t>({small({1, 2, 1, 2}, {1, 10, 2, 20})}), ElementsAre(3, 30));
}

TEST_F(Microsoft, ProductsOfDynamicScaleComeBackAsNumbers) {
  model.input("a", {1, 2});
  bytes("b", {2, 1}, {3, 1}, pb::TensorProto::INT8);
  model.floats("bs", {}, {0.5f});
  model.floats("bias", {1}, {100});
  node("DynamicQuantizeMatMul", {"a", "b", "bs", "", "bias"});
  // The scale of a is 255 / 255: nothing is lost.
  EXPECT_THAT(run({floats({1, 2}, {255, 4})}), ElementsAre(100 + 0.5f * (3 * 255 + 4)));
}

TEST_F(Microsoft, OtherOperatorsOfTheDomainAreNamedInTheRefusal) {
  model.input("x", {1});
  node("Frobnicate", {"x"});
  EXPECT_THAT([&] { import_onnx_bytes(model.bytes()); },
              testing::ThrowsMessage<Error>(HasSubstr("domain 'com.microsoft' has no operator 'Frobnicate'")));
}

}  // namespace
}  // namespace tessera::onnx
