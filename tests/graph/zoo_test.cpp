#include "tessera/graph/zoo/zoo.h"

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace tessera {
namespace {

using testing::HasSubstr;

// Multiply-adds of convolutions and dense layers, as papers count them.
double macs(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes) {
    if (!std::holds_alternative<Conv>(node.op) && !std::holds_alternative<ConvTranspose>(node.op) &&
        !std::holds_alternative<Gemm>(node.op) && !std::holds_alternative<MatMul>(node.op))
      continue;
    std::vector<TensorType> in, out;
    for (ValueId id : node.inputs) in.push_back(graph.value(id).type);
    for (ValueId id : node.outputs) out.push_back(graph.value(id).type);
    flops += work(node.op, in, out).flops;
  }
  return flops / 2;
}

double parameters(const Graph& graph) {
  double count = 0;
  for (const Value& v : graph.values)
    if (v.constant && (v.name.ends_with(".weight") || v.name.ends_with(".bias")))
      count += static_cast<double>(v.constant->count());
  return count;
}

void expect_near(double got, double wanted, double relative) {
  EXPECT_NEAR(got / wanted, 1, relative) << got << " against " << wanted;
}

TEST(Zoo, NetworksHaveTheKnownNumbersOfMultiplyAddsAndParameters) {
  struct Known {
    const char* name;
    double macs, parameters;
  };
  // Published counts; those of the U-Nets are sums over their layers. The detector's are without decoding the boxes.
  for (const Known& known :
       {Known{"resnet18", 1.814e9, 11.690e6}, Known{"resnet50", 4.089e9, 25.557e6},
        Known{"mobilenet_v2", 0.3008e9, 3.505e6}, Known{"vgg16", 15.47e9, 138.36e6}, Known{"unet", 12.0733e9, 7.763e6},
        Known{"efficientnet_like", 0.386e9, 5.289e6}, Known{"yolo_like", 4.372e9, 3.152e6},
        // The class token, positions and relative positions are no .weight.
        Known{"vit_b_16", 17.564e9, 86.567e6 - 198 * 768}, Known{"convnext_tiny", 4.456e9, 28.589e6},
        Known{"swin_t", 4.491e9, 28.288e6 - 169 * 138}, Known{"vanilla_unet", 56.5838e9, 7.763e6},
        Known{"shallow_unet", 3.46976e9, 0}}) {
    SCOPED_TRACE(known.name);
    const Graph graph = make_zoo_model(known.name);
    expect_near(macs(graph), known.macs, 0.003);
    if (known.parameters > 0) expect_near(parameters(graph), known.parameters, 0.003);
  }
}

// Of its bottlenecks, those of the backbone add their input: 1 + 2 + 2 + 1.
TEST(Zoo, YoloLikeHasShortcutsInItsBackboneAlone) {
  const Graph graph = make_zoo_model("yolo_like", 1);
  const auto adds = std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto* binary = std::get_if<Binary>(&node.op);
    return binary != nullptr && binary->kind == Binary::Kind::add;
  });
  EXPECT_EQ(adds, 6);
}

// Windows of 7 x 7 after a shift by 3: the last ones of rows and columns hold 4 + 3 pixels that were not neighbours.
TEST(Zoo, SwinMasksWhatWasNoNeighbourBeforeTheShift) {
  std::map<std::int64_t, std::int64_t> masked;  // by windows
  for (const Value& value : make_zoo_model("swin_t", 1).values) {
    if (value.constant == nullptr || value.constant->type() != ElementType::float32) continue;
    const auto numbers = value.constant->as<float>();
    if (numbers.size() % (49 * 49) != 0) continue;
    const auto count = std::ranges::count(numbers, -100.0f);
    if (count > 0) masked[static_cast<std::int64_t>(numbers.size()) / (49 * 49)] = count;
  }
  const auto apart = [](std::int64_t side) {  // windows of a row
    const std::int64_t pixels = 49, edge = pixels * pixels - (28 * 28 + 21 * 21),
                       corner = pixels * pixels - (16 * 16 + 12 * 12 + 12 * 12 + 9 * 9);
    return 2 * (side - 1) * edge + corner;
  };
  EXPECT_EQ(masked, (std::map<std::int64_t, std::int64_t>{{64, apart(8)}, {16, apart(4)}, {4, apart(2)}}));
}

TEST(Zoo, EveryNetworkTakesItsInputAtAnyBatch) {
  std::set<std::string_view> names;
  for (const ZooModel& model : zoo()) {
    SCOPED_TRACE(std::string(model.name));
    EXPECT_TRUE(names.insert(model.name).second);
    if (model.name == "vgg16") continue;  // half a gigabyte of weights, made once above
    const Graph graph = make_zoo_model(model.name, 3);
    EXPECT_NO_THROW(verify(graph));
    EXPECT_EQ(graph.name, model.name);
    EXPECT_EQ(graph.value(graph.inputs[0]).type.shape(), (Shape{3, model.channels, model.height, model.width}));
    for (const Value& v : graph.values) EXPECT_TRUE(v.type.is_static()) << v.name;
    const Shape out = graph.value(graph.outputs[0]).type.shape();
    EXPECT_EQ(out[0], 3);
    if (model.name == "yolo_like") {
      ASSERT_EQ(graph.outputs.size(), 3U);
      for (std::int64_t i = 0; i < 3; ++i)
        EXPECT_EQ(graph.value(graph.outputs[static_cast<std::size_t>(i)]).type.shape(),
                  (Shape{3, 144, 80 >> i, 80 >> i}));
      continue;
    }
    EXPECT_EQ(out[1], out.rank() == 2 ? 1000 : model.name == "unet" ? 2 : 1);
    if (out.rank() == 4) {
      EXPECT_EQ(out[2], model.height);
      EXPECT_EQ(out[3], model.width);
    }
  }
}

double mean_square(const Array& array) {
  double sum = 0;
  for (float v : array.as<float>()) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum / static_cast<double>(std::max<std::int64_t>(array.count(), 1));
}

TEST(Zoo, ActivationsStayInRangeThroughTheWholeNetwork) {
  for (const char* name :
       {"resnet18", "resnet50", "mobilenet_v2", "shallow_unet", "unet", "efficientnet_like", "yolo_like"}) {
    SCOPED_TRACE(name);
    Graph graph = make_zoo_model(name);
    const std::int64_t channels = graph.value(graph.inputs[0]).type.shape()[1];
    // Smaller than the real input, to be quick; at 32 the last stages of a classifier would be one pixel, and eight of
    // nine taps of a 3x3 would see only padding. 5x5 taps need twice as much.
    const std::int64_t extent = std::string_view(name).ends_with("unet")        ? 32
                                : std::string_view(name) == "efficientnet_like" ? 128
                                                                                : 64;
    const Shape small{1, channels, extent, extent};
    graph.value(graph.inputs[0]).type = TensorType(ElementType::float32, small);
    infer_types(graph);
    Array x(ElementType::float32, small);
    std::uint32_t state = 1;
    for (float& v : x.as<float>())
      v = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f * 3.46f - 1.73f;
    const std::vector<Array> out = evaluate(graph, {x}, [&](const Node& node, const std::vector<const Array*>& made) {
      const double rms = std::sqrt(mean_square(*made[0]));
      EXPECT_TRUE(rms > 0.1 && rms < 6) << node.name << " has a root mean square of " << rms;
    });
    const auto values = out[0].as<float>();
    EXPECT_NE(*std::min_element(values.begin(), values.end()), *std::max_element(values.begin(), values.end()));
  }
}

TEST(Zoo, WeightsAreTheSameEveryTimeAndDifferBetweenLayers) {
  const Graph a = make_zoo_model("mobilenet_v2"), b = make_zoo_model("mobilenet_v2");
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i)
    if (a.values[i].constant) {
      EXPECT_EQ(*a.values[i].constant, *b.values[i].constant) << a.values[i].name;
    }
  const auto weight = [&](const std::string& name) {
    const auto at = std::ranges::find(a.values, name, &Value::name);
    return *at->constant;
  };
  EXPECT_NE(weight("features.12.expand.weight"), weight("features.13.expand.weight"));
  const Array classifier = weight("classifier.weight");
  double sum = 0;
  for (float v : classifier.as<float>()) sum += static_cast<double>(v);
  EXPECT_NEAR(sum / 1280000, 0, 1e-4) << "weights are centred";
}

TEST(Zoo, RefusesNamesThatAreNotThereAndEmptyBatches) {
  try {
    make_zoo_model("resnet-50");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'resnet50'?"));
    EXPECT_THAT(error.what(), HasSubstr("mobilenet_v2"));
  }
  EXPECT_THROW(make_zoo_model("resnet50", 0), Error);
  EXPECT_THROW(make_zoo_model("resnet50", -1), Error);
}

}  // namespace
}  // namespace tessera
