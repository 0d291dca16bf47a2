#include "tessera/quantize/quantize.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/import.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/network_builder.h"
#include "tessera/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

Array numbers(const Shape& shape, unsigned seed, float size = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = normal(random);
  return out;
}

TensorType images(std::int64_t channels) { return {ElementType::float32, Shape{2, channels, 10, 10}}; }

std::vector<std::vector<Array>> samples_of(const Network& network, int count) {
  std::vector<std::vector<Array>> samples;
  for (int i = 0; i < count; ++i) {
    std::vector<Array> inputs;
    for (const Port& port : network.inputs())
      inputs.push_back(
          numbers(port.type.shape(), static_cast<unsigned>(100 * i) + static_cast<unsigned>(inputs.size())));
    samples.push_back(std::move(inputs));
  }
  return samples;
}

// A residual network: every kind of node that computes with bytes.
Network residual() {
  NetworkBuilder b("residual");
  const NetworkValue x = b.input("x", images(3));
  const NetworkValue stem = b.relu("stem_relu", b.conv("stem", x, numbers(Shape{16, 3, 3, 3}, 1, 0.2F),
                                                       numbers(Shape{16}, 2, 0.1F), {.pads = {1, 1, 1, 1}}));
  const NetworkValue pooled = b.max_pool("pool", stem, {.kernel = {2, 2}, .strides = {2, 2}});
  const NetworkValue left = b.conv("left", pooled, numbers(Shape{16, 16, 3, 3}, 3, 0.1F), {}, {.pads = {1, 1, 1, 1}});
  const NetworkValue sum = b.relu("sum_relu", b.add("sum", left, pooled));
  const NetworkValue other = b.conv("other", sum, numbers(Shape{8, 16, 1, 1}, 4, 0.2F), numbers(Shape{8}, 5, 0.1F));
  const NetworkValue joined = b.concat("join", {sum, other}, 1);
  const NetworkValue mean = b.flatten("flat", b.global_average_pool("mean", joined));
  return std::move(b).finish({b.dense("fc", mean, numbers(Shape{10, 24}, 6, 0.3F), numbers(Shape{10}, 7, 0.1F))});
}

std::vector<std::string> kernels_of(const Network& network, const std::vector<Array>& inputs) {
  const Session session(network);
  std::vector<std::string> names;
  for (const auto& plan : session.plans(inputs))
    for (const Step& step : plan->steps)
      if (step.node != Step::kConversion && step.kernel != nullptr) names.emplace_back(step.kernel->name);
  return names;
}

std::map<std::string, QuantizedLayer> by_name(const QuantizedNetwork& made) {
  std::map<std::string, QuantizedLayer> out;
  for (const QuantizedLayer& layer : made.layers) out[layer.node] = layer;
  return out;
}

TEST(Quantize, AResidualNetworkComputesWithBytesFromEndToEnd) {
  const Network network = residual();
  const auto samples = samples_of(network, 8);
  const QuantizedNetwork made = quantize(network, samples);
  ASSERT_EQ(made.layers.size(), 4U);
  for (const QuantizedLayer& layer : made.layers) {
    EXPECT_TRUE(layer.bytes) << layer.node << ": " << layer.reason;
    ASSERT_TRUE(layer.signal_db.has_value()) << layer.node;
    EXPECT_GT(*layer.signal_db, 25) << layer.node;  // 8 bits: 6 dB each, less the range's headroom and errors before it
  }
  ASSERT_TRUE(made.accuracy.pcc.has_value());
  EXPECT_GT(*made.accuracy.pcc, 0.999);
  EXPECT_LT(made.accuracy.max_relative, 0.05);
  EXPECT_LT(made.weight_bytes * 3, made.weight_bytes_before);  // biases and scales are most of what is not a byte
  EXPECT_EQ(made.network.outputs()[0].name, network.outputs()[0].name);
  for (const std::string& kernel : kernels_of(made.network, samples[0]))
    EXPECT_THAT(kernel, testing::Not(AllOf(HasSubstr("conv"), HasSubstr("f32")))) << "an island of float32";
}

// The definition: what quantised weights and values come to in float64, layer by layer, is what the session computes.
TEST(Quantize, WeightsAreRoundedToTheNearestStepOfTheirChannel) {
  NetworkBuilder b("one");
  const Array weights = numbers(Shape{4, 3, 3, 3}, 11);
  const NetworkValue x = b.input("x", images(3));
  const Network network = std::move(b).finish({b.conv("c", x, weights, numbers(Shape{4}, 12))});
  for (const bool per_channel : {true, false}) {
    QuantizeOptions options;
    options.per_channel = per_channel;
    const QuantizedNetwork made = quantize(network, samples_of(network, 4), options);
    const Graph& graph = made.network.graph();
    const auto* const node = &*std::ranges::find(graph.nodes, "c", &Node::name);
    const auto* const dequantize =
        &*std::ranges::find_if(graph.nodes, [&](const Node& n) { return n.outputs[0] == node->inputs[1]; });
    const auto bytes = graph.value(dequantize->inputs[0]).constant->as<std::int8_t>();
    const auto scales = graph.value(dequantize->inputs[1]).constant->as<float>();
    ASSERT_EQ(scales.size(), per_channel ? 4U : 1U);
    const auto values = weights.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[per_channel ? i / 27 : 0];
      EXPECT_LE(std::abs(bytes[i] * scale - values[i]), scale / 2 * 1.0001F);
    }
    for (std::size_t c = 0; c < scales.size(); ++c) {
      const std::size_t each = values.size() / scales.size();
      const auto channel = std::span(bytes).subspan(c * each, each);
      EXPECT_EQ(std::abs(*std::ranges::max_element(channel, {}, [](std::int8_t v) { return std::abs(v); })), 127);
    }
  }
}

TEST(Quantize, WhatIsWrittenIsReadAgain) {
  const Network network = residual();
  const auto samples = samples_of(network, 3);
  const QuantizedNetwork made = quantize(network, samples);
  const Network again(import_onnx_bytes(export_onnx_bytes(made.network.graph()), {}));
  EXPECT_EQ(Session(again).run(samples[0]), Session(made.network).run(samples[0]));
}

TEST(Quantize, NodesAndOperatorsCanBeLeftOut) {
  const Network network = residual();
  const auto samples = samples_of(network, 3);
  QuantizeOptions options;
  options.exclude = {"left"};
  auto layers = by_name(quantize(network, samples, options));
  EXPECT_FALSE(layers["left"].bytes);
  EXPECT_EQ(layers["left"].reason, "excluded by name");
  EXPECT_TRUE(layers["stem"].bytes && layers["other"].bytes && layers["fc"].bytes);
  options.exclude = {"Conv"};
  layers = by_name(quantize(network, samples, options));
  EXPECT_FALSE(layers["stem"].bytes || layers["left"].bytes || layers["other"].bytes);
  EXPECT_TRUE(layers["fc"].bytes);
  options.exclude = {"lefd"};
  EXPECT_THAT([&] { quantize(network, samples, options); },
              ThrowsMessage<Error>(AllOf(HasSubstr("no node and no operator 'lefd'"), HasSubstr("left"))));
}

// One layer has a channel whose weights are a thousand times those of the others: with one scale for all of them the
// others vanish.
TEST(Quantize, TheLayerThatCostsMostStaysFloat32) {
  NetworkBuilder b("uneven");
  const NetworkValue x = b.input("x", images(8));
  Array uneven = numbers(Shape{8, 8, 1, 1}, 21, 0.3F);
  for (std::size_t i = 0; i < 8; ++i) uneven.as<float>()[i] *= 1000;
  NetworkValue y = b.conv("even", x, numbers(Shape{8, 8, 1, 1}, 22, 0.3F));
  y = b.conv("uneven", y, uneven);
  Array undo(ElementType::float32, Shape{8, 8, 1, 1});  // the first channel counts as much as the others
  for (std::size_t i = 0; i < 8; ++i) undo.as<float>()[i * 9] = i == 0 ? 0.001F : 1.0F;
  y = b.conv("undo", y, undo);
  const Network network = std::move(b).finish({y});
  const auto samples = samples_of(network, 4);
  QuantizeOptions options;
  options.per_channel = false;
  const QuantizedNetwork poor = quantize(network, samples, options);
  ASSERT_LT(*poor.accuracy.pcc, 0.9);
  options.min_pcc = 0.98;
  const QuantizedNetwork made = quantize(network, samples, options);
  EXPECT_TRUE(made.kept);
  EXPECT_GE(*made.accuracy.pcc, 0.98);
  auto layers = by_name(made);
  ASSERT_TRUE(layers["uneven"].pcc_alone && layers["even"].pcc_alone);
  EXPECT_LT(*layers["uneven"].pcc_alone, *layers["even"].pcc_alone);
  EXPECT_FALSE(layers["uneven"].bytes);
  EXPECT_EQ(layers["uneven"].reason, "kept in float32 to reach the accuracy target");
}

TEST(Quantize, ProgressIsToldAndCanEndTheWork) {
  const Network network = residual();
  const auto samples = samples_of(network, 3);
  std::vector<std::string> stages;
  QuantizeOptions options;
  options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
    EXPECT_LE(done, total);
    stages.emplace_back(what);
  };
  quantize(network, samples, options);
  EXPECT_THAT(stages, AllOf(Contains("ranges"), Contains("distributions")));
  options.progress = [](std::string_view, std::size_t, std::size_t) { fail(Code::internal, "enough"); };
  EXPECT_THAT([&] { quantize(network, samples, options); }, ThrowsMessage<Error>(HasSubstr("enough")));
}

TEST(Quantize, RefusesWhatItCannotDo) {
  const Network network = residual();
  auto samples = samples_of(network, 2);
  EXPECT_THAT([&] { quantize(network, {}); }, ThrowsMessage<Error>(HasSubstr("there are no samples")));
  EXPECT_THAT([&] { quantize(quantize(network, samples).network, samples); },
              ThrowsMessage<Error>(HasSubstr("computes with bytes already")));
  samples[1][0].as<float>()[3] = NAN;
  EXPECT_THAT([&] { quantize(network, samples); },
              ThrowsMessage<Error>(HasSubstr("'x' is nan for one of the samples")));
  NetworkBuilder b("none");
  const NetworkValue x = b.input("x", images(3));
  const Network plain = std::move(b).finish({b.relu("r", x)});
  EXPECT_THAT([&] { quantize(plain, samples_of(plain, 1)); },
              ThrowsMessage<Error>(HasSubstr("nothing of the network 'none' can compute with bytes")));
  QuantizeOptions options;
  options.min_pcc = 2;
  EXPECT_THAT([&] { quantize(network, samples_of(network, 1), options); },
              ThrowsMessage<Error>(HasSubstr("min_pcc is 2")));
}

// Random chains with branches: whatever is chosen, the network of bytes is valid and near to that of float32.
TEST(Quantize, RandomNetworksStayNear) {
  std::mt19937 random(9);
  const auto pick = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (unsigned seed = 0; seed < 25; ++seed) {
    NetworkBuilder b("random");
    NetworkValue x = b.input("x", images(8));
    std::vector<NetworkValue> made = {x};
    for (int layer = 0; layer < 6; ++layer) {
      const std::string name = "n" + std::to_string(layer);
      switch (pick(7)) {
        case 0: x = b.relu(name, x); break;
        case 1: x = b.add(name, x, made[static_cast<std::size_t>(pick(static_cast<int>(made.size())))]); break;
        case 2: x = b.silu(name, x); break;
        case 3: x = b.clip(name, x, -2, 2.5F); break;
        case 4: x = b.transpose(name, x, {0, 1, 3, 2}); break;
        default:
          x = b.conv(name, x, numbers(Shape{8, 8, 3, 3}, seed * 10 + static_cast<unsigned>(layer), 0.12F),
                     numbers(Shape{8}, seed, 0.1F), {.pads = {1, 1, 1, 1}});
      }
      made.push_back(x);
    }
    x = b.conv("last", x, numbers(Shape{4, 8, 1, 1}, seed, 0.3F));
    const Network network = std::move(b).finish({x, made[3]});
    const auto samples = samples_of(network, 3);
    for (const RangeMethod method : {RangeMethod::min_max, RangeMethod::mse}) {
      QuantizeOptions options;
      options.method = method;
      const QuantizedNetwork found = quantize(network, samples, options);
      EXPECT_GT(found.accuracy.pcc.value_or(1), 0.99) << "seed " << seed;
      EXPECT_EQ(found.network.outputs().size(), 2U);
      EXPECT_EQ(found.network.outputs()[1].name, network.outputs()[1].name);
    }
  }
}

}  // namespace
}  // namespace tessera
