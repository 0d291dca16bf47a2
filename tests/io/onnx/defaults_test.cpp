// What attributes mean that a model leaves out, as the ONNX standard says.

#include "tessera/io/onnx/import.h"

#include "model_builder.h"

#include "tessera/graph/graph.h"
#include "tests/error_of.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace tessera::onnx {
namespace {

using for_tests::error_of;
using testing::HasSubstr;

struct Input {
  std::vector<std::int64_t> dims;
  int type = pb::TensorProto::FLOAT;
};

struct Case {
  std::string type;
  std::int64_t opset;
  std::vector<Input> inputs;
  Op wanted;
  std::function<void(pb::NodeProto&)> required = {};  // attributes without a default
  std::size_t most = 0;                               // inputs, where some of them may be left out
};

Graph graph_of(const Case& c) {
  ModelBuilder model(c.opset);
  std::vector<std::string> names;
  for (const Input& input : c.inputs) {
    names.push_back("x" + std::to_string(names.size()));
    model.input(names.back(), input.dims, input.type);
  }
  model.output("y");
  pb::NodeProto& node = model.node(c.type, names, {"y"});
  if (c.required) c.required(node);
  return import_onnx_bytes(model.bytes());
}

// What the node becomes. One input more than the operator has is refused, and so is one less than it needs.
Op imported(const Case& c) {
  Case more = c, less = c;
  while (more.inputs.size() <= std::max(c.most, c.inputs.size())) more.inputs.push_back({{1}});
  EXPECT_THAT(error_of([&] { graph_of(more); }), HasSubstr(fmt::format("{} inputs are given", more.inputs.size())))
      << c.type;
  less.inputs.pop_back();
  EXPECT_THAT(error_of([&] { graph_of(less); }), HasSubstr("is missing")) << c.type;
  const Graph graph = graph_of(c);
  EXPECT_EQ(graph.nodes.size(), 1u) << c.type;
  return graph.nodes.at(0).op;
}

TEST(Defaults, OfActivationsAreThoseOfTheStandard) {
  using K = Unary::Kind;
  const std::vector<Input> x{{{2, 3}}};
  for (const Case& c : std::vector<Case>{
           {"Celu", 12, x, Unary{K::celu, 1, 0}},
           {"Elu", 6, x, Unary{K::elu, 1, 0}},
           {"Gelu", 20, x, Unary{K::gelu, 0, 0}},
           {"HardSigmoid", 6, x, Unary{K::hard_sigmoid, 0.2f, 0.5f}},
           {"IsInf", 10, x, Unary{K::is_inf, 1, 1}},
           {"LeakyRelu", 16, x, Unary{K::leaky_relu, 0.01f, 0}},
           {"Selu", 6, x, Unary{K::selu, 1.67326319217681884765625f, 1.05070102214813232421875f}},
           {"Selu", 1, x, Unary{K::selu, 1.6732f, 1.0507f}},
           {"Shrink", 9, x, Unary{K::shrink, 0.5f, 0}},
           {"ThresholdedRelu", 10, x, Unary{K::thresholded_relu, 1, 0}},
           {"Softmax", 13, x, Softmax{.axis = -1, .log = false, .flatten = false}},
           {"Softmax", 11, x, Softmax{.axis = 1, .log = false, .flatten = true}},
           {"LogSoftmax", 13, x, Softmax{.axis = -1, .log = true, .flatten = false}},
       })
    EXPECT_TRUE(imported(c) == c.wanted) << c.type << " of opset " << c.opset;
}

TEST(Defaults, OfNormalisationsAreThoseOfTheStandard) {
  const Input x{{1, 2, 3, 4}}, each{{2}}, last{{4}};
  const auto size = [](pb::NodeProto& node) { ModelBuilder::integer(node, "size", 3); };
  const auto groups = [](pb::NodeProto& node) { ModelBuilder::integer(node, "num_groups", 2); };
  for (const Case& c : std::vector<Case>{
           {"BatchNormalization", 15, {x, each, each, each, each}, BatchNorm{1e-5f, 0.9f, false}},
           {"InstanceNormalization", 6, {x, each, each}, InstanceNorm{1e-5f}},
           {"GroupNormalization", 18, {x, each, each}, GroupNorm{2, 1e-5f, true}, groups},
           {"GroupNormalization", 21, {x, each, each}, GroupNorm{2, 1e-5f, false}, groups},
           {"LayerNormalization", 17, {x, last}, LayerNorm{-1, 1e-5f, 1}, {}, 3},
           {"RMSNormalization", 23, {x, last}, RmsNorm{-1, 1e-5f}},
           {"LpNormalization", 1, {x}, LpNorm{-1, 2}},
           {"LRN", 13, {x}, Lrn{3, 1e-4f, 0.75f, 1}, size},
           {"MeanVarianceNormalization", 13, {x}, MeanVarianceNorm{{0, 2, 3}}},
       })
    EXPECT_TRUE(imported(c) == c.wanted) << c.type << " of opset " << c.opset;
}

TEST(Defaults, OfWhatMovesAndSumsAreThoseOfTheStandard) {
  const int whole = pb::TensorProto::INT64;
  const Input x{{2, 4, 4}}, image{{1, 4, 4, 4}}, matrix{{3, 3}}, places{{2}, whole};
  const auto block = [](pb::NodeProto& node) { ModelBuilder::integer(node, "blocksize", 2); };
  for (const Case& c : std::vector<Case>{
           {"Gemm", 13, {matrix, matrix}, Gemm{1, 1, false, false}, {}, 3},
           {"Gather", 13, {x, places}, Gather{0}},
           {"GatherElements", 13, {matrix, {{3, 3}, whole}}, GatherElements{0}},
           {"GatherND", 13, {x, {{1, 2}, whole}}, GatherND{0}},
           {"ScatterElements", 18, {matrix, {{3, 3}, whole}, matrix}, ScatterElements{0, ScatterND::Reduction::none}},
           {"ArgMax", 13, {x}, ArgReduce{false, 0, true, false}},
           {"ArgMin", 13, {x}, ArgReduce{true, 0, true, false}},
           {"ReduceMean", 18, {x}, Reduce{Reduce::Kind::mean, {}, true, false}, {}, 2},
           {"Trilu", 14, {matrix}, Trilu{true}, {}, 2},
           {"Flatten", 13, {x}, Flatten{1}},
           {"DepthToSpace", 13, {image}, DepthToSpace{2, false}, block},
           {"SpaceToDepth", 13, {image}, SpaceToDepth{2}, block},
           {"GlobalLpPool", 2, {image}, GlobalPool{.kind = GlobalPool::Kind::lp, .p = 2}},
           {"RoiAlign", 16, {image, {{1, 4}}, {{1}, whole}}, RoiAlign{false, true, 1, 1, 0, 1}},
           {"RoiAlign", 10, {image, {{1, 4}}, {{1}, whole}}, RoiAlign{false, false, 1, 1, 0, 1}},
           {"GridSample",
            20,
            {image, {{1, 2, 2, 2}}},
            GridSample{GridSample::Mode::linear, GridSample::Padding::zeros, false}},
       })
    EXPECT_TRUE(imported(c) == c.wanted) << c.type << " of opset " << c.opset;
}

}  // namespace
}  // namespace tessera::onnx
