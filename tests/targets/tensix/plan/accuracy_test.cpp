#include "tessera/targets/tensix/plan/accuracy.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/plan/plan_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

using testing::HasSubstr;

tensix::LoweredGraph small_network() {
  SmallNetwork net(Shape{1, 16, 12, 12});
  ValueId y = net.conv(net.x, 32, 3);
  y = net.add(net.conv(net.conv(y, 32, 3), 32, 1), y);
  return tensix::lower(net.done(net.conv(y, 32, 3)));
}

TEST(Correlation, IsOneForMultiplesAndLessForOthers) {
  const Array a = Array::of<float>(Shape{4}, std::vector<float>{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(correlation(a, Array::of<float>(Shape{4}, std::vector<float>{2, 4, 6, 8})), 1);
  EXPECT_LT(correlation(a, Array::of<float>(Shape{4}, std::vector<float>{2, 1, 4, 3})), 1);
  const Array same = Array::of<float>(Shape{2}, std::vector<float>{5, 5});
  EXPECT_EQ(correlation(same, same), 1);
}

TEST(NodeAccuracy, GrowsWithPrecision) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = small_network();
  const Calibration calibration = calibration_of(network);
  const std::vector<tensix::LayerConfig> pins(network.nodes.size());
  const auto pcc = [&](const StepPrecision& precision) {
    return measure(calibration, machine, 32768, std::vector<StepPrecision>(network.nodes.size(), precision), pins).pcc;
  };
  const double low = pcc(precision_levels().front()), high = pcc(precision_levels().back());
  EXPECT_LT(low, high);
  EXPECT_GT(low, 0.9);
  EXPECT_LT(high, 1);
}

TEST(AccuracyBudget, IsHeldByRaisingSomeLayers) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = small_network();
  const Calibration calibration = calibration_of(network);
  const std::vector<tensix::LayerConfig> pins(network.nodes.size());
  const auto all = [&](const StepPrecision& precision) {
    return measure(calibration, machine, 32768, std::vector<StepPrecision>(network.nodes.size(), precision), pins).pcc;
  };
  // Between what the fastest and the most exact give.
  CardPlanRequest request;
  request.min_pcc = (all(precision_levels().front()) + 3 * all(precision_levels().back())) / 4;
  request.budget_s = 1e9;
  const CardPlan plan = plan_network(network, machine, request), fast = plan_network(network, machine, {});
  ASSERT_TRUE(plan.pcc.has_value());
  EXPECT_GE(*plan.pcc, request.min_pcc);
  EXPECT_FALSE(fast.pcc.has_value());
  EXPECT_GE(plan.device_ns, fast.device_ns);
  const auto raised = std::count_if(plan.steps.begin(), plan.steps.end(), [](const PlannedStep& step) {
    return step.config.fidelity != MathFidelity::lofi || step.config.dtype != DType::bfloat8_b;
  });
  EXPECT_GT(raised, 0);
}

TEST(AccuracyBudget, ThatCannotBeHeldSaysWhatCan) {
  CardPlanRequest request;
  request.min_pcc = 0.999999999;
  request.budget_s = 1e9;
  try {
    plan_network(small_network(), load_machine("wormhole_n150"), request);
    FAIL() << "it was held";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the best that was found is 0.99"));
    EXPECT_THAT(error.what(), HasSubstr("loses most"));
  }
}

}  // namespace
}  // namespace tessera::tensix
