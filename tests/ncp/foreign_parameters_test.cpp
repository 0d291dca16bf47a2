#include "tessera/ncp/foreign_parameters.h"

#include "tessera/core/error.h"
#include "tessera/ncp/sequence.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tessera::ncp {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ParameterSet<float> random_parameters(const Layer& layer, std::uint64_t seed) {
  return converted<float>(initial_parameters(layer, seed));
}

using tessera::for_tests::error_of;

void expect_same(const ParameterSet<float>& found, const ParameterSet<float>& wanted) {
  ASSERT_EQ(found.items.size(), wanted.items.size());
  for (std::size_t i = 0; i < wanted.items.size(); ++i) {
    EXPECT_EQ(found.items[i].info, wanted.items[i].info);
    EXPECT_EQ(found.items[i].values, wanted.items[i].values) << wanted.items[i].info.name;
  }
}

std::vector<std::string> names(const ParameterSet<float>& set) {
  std::vector<std::string> out;
  for (const auto& item : set.items) out.push_back(item.info.name);
  return out;
}

std::vector<Layer> layers() {
  const Wiring wiring = build_wiring(NcpSpec{6, 4, 2, 3, 2, 3, 2, 5}, 3);
  return {CfcLayer{.inputs = 3, .units = 4, .backbone = {5, 6, 7}, .backbone_dropout = 0.1},
          CfcLayer{.inputs = 3, .units = 4, .mode = CfcMode::pure, .backbone = {}, .dialect = Dialect::keras},
          CfcLayer{.inputs = 3, .units = 4, .dialect = Dialect::mlx, .projection = 2},
          CfcLayer{.inputs = 3, .wiring = wiring, .backbone = {}},
          CfcLayer{.inputs = 3, .wiring = wiring, .backbone = {}, .dialect = Dialect::keras},
          LtcLayer{.wiring = wiring, .implicit_constraints = false}};
}

TEST(ForeignParameters, ComeBackFromEveryDialectUnderAnyPrefix) {
  std::uint64_t seed = 1;
  for (const Layer& layer : layers())
    for (const Dialect dialect : {Dialect::torch, Dialect::keras, Dialect::mlx, Dialect::paper}) {
      const ParameterSet<float> p = random_parameters(layer, ++seed);
      ParameterSet<float> there = export_parameters(layer, p, dialect);
      expect_same(import_parameters(layer, there, dialect), p);
      for (auto& item : there.items)
        item.info.name = dialect == Dialect::keras ? "model/cfc/" + item.info.name + ":0" : "rnn." + item.info.name;
      expect_same(import_parameters(layer, there, dialect), p);
    }
}

TEST(ForeignParameters, KerasHasItsOwnNamesAndKernelsOfInputsByOutputs) {
  const Layer layer = CfcLayer{.inputs = 3, .units = 4, .backbone = {5, 6}};
  const ParameterSet<float> p = random_parameters(layer, 3), keras = export_parameters(layer, p, Dialect::keras);
  EXPECT_THAT(names(keras), testing::ElementsAre("backbone0/kernel", "backbone0/bias", "backbone1/kernel",
                                                 "backbone1/bias", "ff1_weight", "ff1_bias", "ff2_weight", "ff2_bias",
                                                 "time_a/kernel", "time_a/bias", "time_b/kernel", "time_b/bias"));
  const auto& kernel = keras.items[0];
  EXPECT_EQ(kernel.info.shape, (std::vector<std::int64_t>{7, 5}));
  EXPECT_EQ(kernel.values[2 * 5 + 1], p.items[0].values[1 * 7 + 2]);
  EXPECT_EQ(keras.items[8].values[0], -p.items[8].values[0]);
}

// The formula of ncps for Keras written out: kernels of inputs by outputs, polarities as masks, no tanh, minus ta t.
TEST(ForeignParameters, AWiredCfcOfKerasComputesWhatKerasDoes) {
  const Wiring wiring = build_wiring(AutoNcpSpec{.units = 10, .outputs = 2}, 3);
  const Layer layer = CfcLayer{.inputs = 3, .wiring = wiring, .backbone = {}, .dialect = Dialect::keras};
  const ParameterSet<float> given = export_parameters(layer, random_parameters(layer, 9), Dialect::keras);
  const std::vector<double> x{0.3, -0.7, 1.1};
  const double t = 0.4;
  std::vector<double> in = x, wanted;
  std::size_t item = 0;
  for (std::size_t l = 0; l < wiring.layers.size(); ++l) {
    const std::vector<int>& neurons = wiring.layers[l].neurons;
    const auto n = neurons.size();
    std::vector<double> out(n);
    for (std::size_t j = 0; j < n; ++j) {
      double sums[4];
      for (std::size_t head = 0; head < 4; ++head) {
        const auto& kernel = given.items[item + 2 * head];
        sums[head] = given.items[item + 2 * head + 1].values[j];
        for (std::size_t i = 0; i < in.size(); ++i) {  // the state is zero
          double mask = 1;
          if (head < 2)
            mask = l == 0 ? wiring.sensory_polarity(static_cast<int>(i), neurons[j])
                          : wiring.polarity(wiring.layers[l - 1].neurons[i], neurons[j]);
          sums[head] += in[i] * kernel.values[i * n + j] * mask;
        }
      }
      const double gate = 1 / (1 + std::exp(sums[2] * t - sums[3]));
      out[j] = sums[0] * (1 - gate) + gate * sums[1];
    }
    item += 8;
    wanted.insert(wanted.end(), out.begin(), out.end());
    in = out;
  }
  const ParameterSet<double> p = converted<double>(import_parameters(layer, given, Dialect::keras));
  const std::vector<double> elapsed{t};
  const auto result = run_reference<double>(layer, p, {1, 1, x, elapsed, {}, {}, {}});
  ASSERT_EQ(result.state.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(result.state[i], wanted[i], 1e-14 * 20) << i;
}

TEST(ForeignParameters, WhatDoesNotFitIsNamedAllAtOnce) {
  const Layer layer = CfcLayer{.inputs = 3, .units = 4, .backbone = {5}};
  ParameterSet<float> keras = export_parameters(layer, random_parameters(layer, 3), Dialect::keras);
  keras.items[0].info.shape = {5, 7};
  keras.items[2].info.name = "ff3_weight";
  EXPECT_THAT(
      error_of([&] { import_parameters(layer, keras, Dialect::keras); }),
      AllOf(HasSubstr("'backbone0/kernel' is [5, 7], not [7, 5]"),
            HasSubstr("'ff1_weight' is missing ('rnn_cell.ff1.weight' here)"), HasSubstr("'ff3_weight' is not known")));
  const Layer mixed = CfcLayer{.inputs = 3, .units = 4, .mixed_memory = true};
  EXPECT_THAT(error_of([&] { export_parameters(mixed, random_parameters(mixed, 1), Dialect::keras); }),
              HasSubstr("mixed memory of ncps for Keras is another network"));
  const Layer ltc = LtcLayer{.wiring = build_wiring(FullyConnectedSpec{.units = 3}, 2)};
  EXPECT_THAT(error_of([&] { export_parameters(ltc, random_parameters(ltc, 1), Dialect::keras); }),
              HasSubstr("implicit_param_constraints off"));
}

}  // namespace
}  // namespace tessera::ncp
