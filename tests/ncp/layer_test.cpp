#include "tessera/ncp/layer.h"

#include "tessera/core/error.h"
#include "tessera/io/ncp_file.h"
#include "tessera/io/safetensors.h"
#include "tests/error_of.h"

#include "golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace tessera::ncp {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using tessera::for_tests::error_of;

Layer layer_of(const char* json) { return layer_from_json(json); }

// Counted by PyTorch on ncps 1.0.1.
TEST(Layer, ParameterCountsAreThoseOfNcps) {
  const auto counts = [](const char* json) {
    const ParameterCount count = count_parameters(layer_of(json));
    return std::pair(count.trainable, count.total);
  };
  const auto pair = [](std::int64_t a, std::int64_t b) { return std::pair(a, b); };
  EXPECT_EQ(counts(R"({"type":"CfC","input_size":20,"units":50})"), pair(34888, 34888));
  EXPECT_EQ(counts(R"({"type":"LTC","input_size":20,"units":50})"), pair(14290, 17790));
  EXPECT_EQ(counts(R"({"type":"LTC","input_size":32,"wiring":{"type":"NCP","inter_neurons":12,"command_neurons":6,
    "motor_neurons":1,"sensory_fanout":6,"inter_fanout":4,"recurrent_command_synapses":4,"motor_fanin":6}})"),
            pair(3999, 4968));
  EXPECT_EQ(counts(R"({"type":"CfC","input_size":32,"wiring":{"type":"NCP","inter_neurons":12,"command_neurons":6,
    "motor_neurons":1,"sensory_fanout":6,"inter_fanout":4,"recurrent_command_synapses":4,"motor_fanin":6}})"),
            pair(2648, 3291));
  EXPECT_EQ(counts(R"({"type":"CfC","input_size":64,"units":256,"backbone_units":256,"backbone_layers":2})"),
            pair(411136, 411136));
}

TEST(Layer, BackboneNamesCountWhatStandsBetweenTheLayers) {
  const auto names = [](double dropout) {
    std::vector<std::string> out;
    for (const ParameterInfo& info :
         parameter_list(CfcLayer{.inputs = 1, .units = 1, .backbone = {2, 2, 2, 2}, .backbone_dropout = dropout}))
      if (info.name.find("backbone") != std::string::npos && info.name.ends_with("weight")) out.push_back(info.name);
    return out;
  };
  EXPECT_THAT(names(0), testing::ElementsAre("rnn_cell.backbone.0.weight", "rnn_cell.backbone.2.weight",
                                             "rnn_cell.backbone.4.weight", "rnn_cell.backbone.6.weight"));
  EXPECT_THAT(names(0.1), testing::ElementsAre("rnn_cell.backbone.0.weight", "rnn_cell.backbone.2.weight",
                                               "rnn_cell.backbone.5.weight", "rnn_cell.backbone.8.weight"));
}

TEST(Layer, DescriptionsComeBackFromJson) {
  for (const std::string& name : golden_names()) {
    const Layer layer = load_golden(name).layer;
    EXPECT_EQ(layer_from_json(layer_to_json(layer)), layer) << name;
  }
  const Layer odd = CfcLayer{.inputs = 2,
                             .units = 3,
                             .mode = CfcMode::pure,
                             .activation = Activation::gelu,
                             .backbone = {7, 5},
                             .backbone_dropout = 0.1,
                             .dialect = Dialect::paper,
                             .projection = 4};
  EXPECT_EQ(layer_from_json(layer_to_json(odd)), odd);
}

TEST(Layer, MistakesInDescriptionsAreNamed) {
  const auto error = [](const char* json) { return error_of([&] { layer_from_json(json); }); };
  EXPECT_THAT(error(R"({"type":"GRU"})"), HasSubstr("there is no layer 'GRU'"));
  EXPECT_THAT(error(R"({"type":"CfC","units":3})"), HasSubstr("'input_size' is missing"));
  EXPECT_THAT(error(R"({"type":"CfC","input_size":2,"units":3,"mode":"prue"})"), HasSubstr("did you mean 'pure'?"));
  EXPECT_THAT(error(R"({"type":"CfC","input_size":2,"units":3,"backbone":[1]})"), HasSubstr("no field 'backbone'"));
  EXPECT_THAT(error(R"({"type":"CfC","input_size":0,"units":3})"), HasSubstr("0 inputs"));
  EXPECT_THAT(error(R"({"type":"CfC","input_size":2,"units":3,"backbone_dropout":1})"), HasSubstr("a dropout of 1"));
  EXPECT_THAT(error(R"({"type":"CfC","input_size":2,"wiring":{"type":"AutoNCP","units":8,"output_size":2},
                        "backbone_units":[3]})"),
              HasSubstr("with a wiring there is no backbone"));
  EXPECT_THAT(error(R"({"type":"LTC","input_size":2,"units":3,"ode_unfolds":0})"), HasSubstr("0 unfolds"));
}

TEST(Layer, ParametersBeginAsUpstreamsDo) {
  const Layer layer = CfcLayer{.inputs = 20, .units = 50, .mixed_memory = true};
  const ParameterSet<double> p = initial_parameters(layer, 1);
  const auto& ff1 = p.items[static_cast<std::size_t>(p.find("rnn_cell.ff1.weight"))];
  const double bound = std::sqrt(6.0 / (50 + 128));
  double largest = 0, sum = 0;
  for (const double value : ff1.values) largest = std::max(largest, std::abs(value)), sum += value;
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.99 * bound);
  // The mean of n uniform values has a standard deviation of bound / sqrt(3 n); five of them are next to impossible.
  const auto n = static_cast<double>(ff1.values.size());
  EXPECT_LT(std::abs(sum / n), 5 * bound / std::sqrt(3 * n));
  const auto& bias = p.items[static_cast<std::size_t>(p.find("rnn_cell.ff1.bias"))];
  for (const double value : bias.values) EXPECT_LE(std::abs(value), 1 / std::sqrt(128.0));
  const auto& recurrent = p.items[static_cast<std::size_t>(p.find("lstm.recurrent_map.weight"))].values;
  for (std::size_t a = 0; a < 50; a += 7)
    for (std::size_t b = 0; b < 50; b += 5) {
      double dot = 0;
      for (std::size_t r = 0; r < 200; ++r) dot += recurrent[r * 50 + a] * recurrent[r * 50 + b];
      EXPECT_NEAR(dot, a == b ? 1 : 0, 200 * 2.3e-16);
    }
  EXPECT_EQ(initial_parameters(layer, 1).items[0].values, p.items[0].values);
  EXPECT_NE(initial_parameters(layer, 2).items[0].values, p.items[0].values);
}

TEST(Layer, MasksAndReversalPotentialsComeFromTheWiring) {
  for (const char* name : {"cfc_wired_ncp", "cfc_wired_auto", "cfc_wired_random", "ltc_ncp", "ltc_full"}) {
    const GoldenCase golden = load_golden(name);
    const ParameterSet<double> ours = initial_parameters(golden.layer, 1);
    int masks = 0;
    for (std::size_t i = 0; i < ours.items.size(); ++i) {
      if (!ours.items[i].info.name.ends_with("sparsity_mask")) continue;
      ++masks;
      EXPECT_EQ(ours.items[i].values, golden.parameters.items[i].values) << name << " " << ours.items[i].info.name;
    }
    EXPECT_GE(masks, 1);
  }
}

TEST(Layer, ConstraintsAreAppliedToExplicitLtcOnly) {
  const Layer layer = layer_of(R"({"type":"LTC","input_size":2,"units":3,"implicit_param_constraints":false})");
  ParameterSet<double> p = initial_parameters(layer, 1);
  for (auto& item : p.items) item.values[0] = -1;
  apply_constraints(layer, p);
  EXPECT_EQ(p.at(p.find("rnn_cell.w"))[0], 0);
  EXPECT_EQ(p.at(p.find("rnn_cell.cm"))[0], 0);
  EXPECT_EQ(p.at(p.find("rnn_cell.vleak"))[0], -1);
  const Layer implicit = layer_of(R"({"type":"LTC","input_size":2,"units":3})");
  ParameterSet<double> q = initial_parameters(implicit, 1);
  q.items[static_cast<std::size_t>(q.find("rnn_cell.w"))].values[0] = -1;
  apply_constraints(implicit, q);
  EXPECT_EQ(q.at(q.find("rnn_cell.w"))[0], -1);
}

TEST(NcpFile, LayersAreWrittenAndReadBack) {
  const auto path = std::filesystem::path(testing::TempDir()) / "layer.safetensors";
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = load_golden(name);
    const ParameterSet<float> parameters = converted<float>(golden.parameters);
    save_ncp_file(path, golden.layer, parameters);
    const NcpFile back = load_ncp_file(path);
    EXPECT_EQ(back.layer, golden.layer);
    ASSERT_EQ(back.parameters.items.size(), parameters.items.size());
    for (std::size_t i = 0; i < parameters.items.size(); ++i) {
      EXPECT_EQ(back.parameters.items[i].info, parameters.items[i].info);
      EXPECT_EQ(back.parameters.items[i].values, parameters.items[i].values);
    }
  }
}

TEST(NcpFile, ParametersUnderAPrefixAreFoundInAFileOfPyTorch) {
  const GoldenCase golden = load_golden("cfc_mixed");
  const auto p = load_ncp_parameters(TESSERA_TEST_DATA "/ncp/cfc_mixed.safetensors", golden.layer, "parameters.");
  EXPECT_EQ(p.items[0].values, converted<float>(golden.parameters).items[0].values);
}

TEST(NcpFile, WhatDoesNotFitIsNamedAllAtOnce) {
  const auto path = std::filesystem::path(testing::TempDir()) / "layer.safetensors";
  const Layer layer = CfcLayer{.inputs = 2, .units = 3, .backbone = {4}};
  ParameterSet<float> p = converted<float>(initial_parameters(layer, 1));
  p.items.erase(p.items.begin());
  p.items[0].info.name = "rnn_cell.backbone.0.bais";
  p.items[1].info.shape = {4, 3};
  p.items[2].values[1] = NAN;
  EXPECT_THAT(error_of([&] { check_parameters(layer, p); }),
              AllOf(HasSubstr("'rnn_cell.backbone.0.weight' [4, 5] is missing"),
                    HasSubstr("'rnn_cell.backbone.0.bais' [4] is not known; did you mean 'rnn_cell.backbone.0.bias'?"),
                    HasSubstr("'rnn_cell.ff1.weight' is [4, 3], not [3, 4]"),
                    HasSubstr("'rnn_cell.ff1.bias' has nan at position 1")));
  save_ncp_file(path, layer, converted<float>(initial_parameters(layer, 1)));
  const Layer larger = CfcLayer{.inputs = 2, .units = 4, .backbone = {4}};
  EXPECT_THAT(error_of([&] { load_ncp_parameters(path, larger); }),
              AllOf(HasSubstr("is [3, 4], not [4, 4]"), HasSubstr("while reading the parameters")));
  save_safetensors(path, {});
  EXPECT_THAT(error_of([&] { load_ncp_file(path); }), HasSubstr("does not say what layer"));
}

}  // namespace
}  // namespace tessera::ncp
