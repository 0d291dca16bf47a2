#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/ncp/graph_layer.h"
#include "tessera/ncp/wiring.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

namespace tessera {
namespace {

Array normal(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = distribution(random);
  return out;
}

std::map<std::string, int> kernels_of(const Session& session, const std::vector<Array>& inputs) {
  std::map<std::string, int> counts;
  for (const ProfiledStep& step : session.profile(inputs, 1, 0).steps) ++counts[step.kernel];
  return counts;
}

// A network of the host, from layer to outputs: the plan takes the packed kernels, and results are the definition's.
void expect_runs(const ncp::Layer& layer, const std::string& kernel, int cells) {
  const ncp::LayerSizes size = ncp::sizes(layer);
  const Graph graph = ncp::to_graph(layer, ncp::converted<float>(ncp::initial_parameters(layer, 3)),
                                    {.timespans = true, .initial_state = true});
  const Session session(graph);
  for (const std::int64_t batch : {1, 5}) {
    Array times = normal(Shape{batch, 7, 1}, 2);
    for (float& t : times.as<float>()) t = 0.1f + std::abs(t);
    const std::vector<Array> inputs{normal(Shape{batch, 7, size.inputs}, 1), times,
                                    normal(Shape{batch, size.state}, 4)};
    const std::vector<Array> found = session.run(inputs), wanted = evaluate(graph, inputs);
    ASSERT_EQ(found.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(found[i].shape(), wanted[i].shape());
      const std::vector<double> a = found[i].to_double(), b = wanted[i].to_double();
      for (std::size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[j], b[j], 2e-5) << "output " << i << " at " << j;
    }
    int taken = 0;
    for (const auto& [name, count] : kernels_of(session, inputs)) {
      EXPECT_NE(name, "reference");
      if (name.starts_with(kernel)) taken += count;
    }
    EXPECT_EQ(taken, cells);
  }
}

TEST(LiquidSession, RunsACfcLayerWithABackboneAndAProjection) {
  expect_runs(ncp::CfcLayer{.inputs = 3, .units = 20, .projection = 4}, "cfc_f32_", 1);
}

TEST(LiquidSession, RunsEveryCellOfAWiring) {
  const ncp::Wiring wiring = ncp::build_wiring(ncp::AutoNcpSpec{.units = 19, .outputs = 3}, 5);
  expect_runs(ncp::CfcLayer{.inputs = 5, .wiring = wiring, .backbone = {}}, "cfc_f32_",
              static_cast<int>(wiring.layers.size()));
  expect_runs(ncp::LtcLayer{.wiring = wiring}, "ltc_f32_", 1);
}

}  // namespace
}  // namespace tessera
