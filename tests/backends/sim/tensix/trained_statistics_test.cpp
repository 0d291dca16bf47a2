#include "tessera/backends/sim/tensix/trained_statistics.h"

#include "tests/backends/sim/tensix/small_network.h"

#include "tessera/graph/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tessera::tensix {
namespace {

TEST(TrainedStatistics, BatchNormsFitWhatTheyRead) {
  const SmallNetwork network = small_network();
  const Graph graph = with_trained_statistics(network.graph, network.inputs);
  int seen = 0;
  std::map<ValueId, Array> values;
  evaluate(graph, network.inputs, [&](const Node& node, const std::vector<const Array*>& outputs) {
    values.insert_or_assign(node.outputs[0], *outputs[0]);
    if (!std::holds_alternative<BatchNorm>(node.op)) return;
    ++seen;
    // Channels come out with the shift as their mean and the scale as their deviation.
    const Array& y = *outputs[0];
    const std::int64_t plane = y.shape()[2] * y.shape()[3];
    const auto scale = graph.value(node.inputs[1]).constant->as<float>();
    const auto shift = graph.value(node.inputs[2]).constant->as<float>();
    for (std::int64_t c = 0; c < y.shape()[1]; ++c) {
      double sum = 0, squares = 0;
      for (std::int64_t p = 0; p < plane; ++p) {
        const double v = y.as<float>()[static_cast<std::size_t>(c * plane + p)];
        sum += v;
        squares += v * v;
      }
      const double mean = sum / static_cast<double>(plane), g = std::abs(scale[static_cast<std::size_t>(c)]);
      const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(plane) - mean * mean));
      // The statistics were taken with operands cut to 9 and 10 stored bits, in each layer anew.
      const double allowed = seen * 0x1p-8 * g;
      EXPECT_NEAR(mean, shift[static_cast<std::size_t>(c)], allowed) << node.name;
      EXPECT_NEAR(deviation, g, allowed) << node.name;
    }
  });
  EXPECT_EQ(seen, 4);
}

TEST(TrainedStatistics, WeightsGetLongTailsAndAreTheSameEveryTime) {
  const SmallNetwork network = small_network();
  const Graph once = with_trained_statistics(network.graph, network.inputs);
  const Graph twice = with_trained_statistics(network.graph, network.inputs);
  const auto kurtosis = [](const Array& w) {
    double second = 0, fourth = 0;
    for (const float v : w.as<float>()) {
      second += std::pow(v, 2);
      fourth += std::pow(v, 4);
    }
    return fourth * static_cast<double>(w.count()) / (second * second);
  };
  for (std::size_t i = 0; i < once.values.size(); ++i) {
    if (!once.values[i].constant) continue;
    EXPECT_EQ(*once.values[i].constant, *twice.values[i].constant) << once.values[i].name;
    if (once.values[i].name == "b.weight") {
      EXPECT_LT(kurtosis(*network.graph.values[i].constant), 3.5);
      EXPECT_GT(kurtosis(*once.values[i].constant), 5.0);
    }
  }
}

}  // namespace
}  // namespace tessera::tensix
