#include "tessera/targets/tensix/plan/plan_network.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace tessera::tensix {
namespace {

using testing::HasSubstr;

Machine n150() { return load_machine("wormhole_n150"); }

tensix::LoweredGraph lowered(std::string_view name, std::int64_t batch = 1) {
  return tensix::lower(make_zoo_model(name, batch), {.host_fallback = true});
}

class ZooPlan : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, ZooPlan, testing::Values("resnet18", "mobilenet_v2"));

TEST_P(ZooPlan, IsFollowedToTheLastByteAndNanosecond) {
  const tensix::LoweredGraph network = lowered(GetParam());
  const CardPlan plan = plan_network(network, n150(), {});
  ASSERT_EQ(plan.steps.size(), network.nodes.size());
  const tensix::Simulation run = rehearse_plan(n150(), network, plan);
  double kernels = 0;
  std::int64_t peak = 0, programs = 0;
  std::size_t moves = 0;
  for (const tensix::SimulatedStep& step : run.steps) {
    kernels += step.time.ns;
    programs += step.programs;
    peak = std::max(peak, step.l1_peak_bytes);
  }
  for (const PlannedStep& step : plan.steps) moves += step.moves.size();
  EXPECT_EQ(run.steps.size(), plan.steps.size() + moves);
  EXPECT_EQ(kernels, plan.kernels_ns);
  EXPECT_EQ(programs, plan.programs);
  EXPECT_EQ(peak, plan.l1_peak_bytes);
  EXPECT_LE(peak, plan.l1_limit_bytes);
  EXPECT_GT(plan.device_ns, plan.kernels_ns);
  EXPECT_GT(plan.end_to_end_ns, plan.kernels_ns);
}

TEST_P(ZooPlan, IsTheSameEachTime) {
  const tensix::LoweredGraph network = lowered(GetParam());
  const CardPlan a = plan_network(network, n150(), {}), b = plan_network(network, n150(), {});
  ASSERT_EQ(a.steps.size(), b.steps.size());
  EXPECT_EQ(a.device_ns, b.device_ns);
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].config.conv, b.steps[i].config.conv);
    EXPECT_EQ(a.steps[i].why, b.steps[i].why);
    EXPECT_EQ(a.steps[i].alternatives.size(), b.steps[i].alternatives.size());
  }
}

TEST(RunPlan, RefusesThePlanOfAnotherNetwork) {
  const tensix::LoweredGraph network = lowered("resnet18");
  CardPlan plan = plan_network(network, n150(), {});
  EXPECT_THROW(rehearse_plan(n150(), lowered("resnet18", 2), plan), Error);
  plan.steps.pop_back();
  EXPECT_THROW(rehearse_plan(n150(), network, plan), Error);
}

TEST(RunPlan, TriesNothingElseWhenAStepDoesNotFit) {
  const tensix::LoweredGraph network = lowered("resnet18");
  CardPlan plan = plan_network(network, n150(), {});
  const auto conv =
      std::find_if(plan.steps.begin(), plan.steps.end(), [](const PlannedStep& step) { return step.op == "conv2d"; });
  ASSERT_NE(conv, plan.steps.end());
  conv->config.conv.shard_layout = TensorMemoryLayout::height_sharded;
  conv->config.conv.core_grid = CoreRange({0, 0}, {0, 0});  // all of it on one core
  try {
    rehearse_plan(n150(), network, plan);
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_THAT(error.what(), HasSubstr(conv->node));
  }
}

TEST(PlanNetwork, ListsAllThatTheCardHasNoOperatorFor) {
  SmallNetwork net(Shape{1, 16, 12, 12});
  const ValueId odd = net.graph.add("odd", Unary{Unary::Kind::acosh}, {net.conv(net.x, 32, 3)});
  const ValueId even = net.graph.add("even", Unary{Unary::Kind::atanh}, {net.conv(odd, 32, 3)});
  const tensix::LoweredGraph network = tensix::lower(net.done(net.conv(even, 32, 1)), {.host_fallback = true});
  CardPlanRequest request;
  try {
    plan_network(network, n150(), request);
    FAIL() << "it was planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("'odd'"));
    EXPECT_THAT(error.what(), HasSubstr("'even'"));
  }
  request.partial = true;
  const CardPlan plan = plan_network(network, n150(), request);
  EXPECT_EQ(plan.steps.size(), network.nodes.size());
  EXPECT_NO_THROW(rehearse_plan(n150(), network, plan));
}

TEST(PlanNetwork, SaysWhichLayerDoesNotFitAndByHowMuch) {
  SmallNetwork net(Shape{1, 16, 2048, 2048});
  CardPlanRequest request;
  request.pins = {{"conv*", "shard", "WIDTH"}};
  EXPECT_THROW(plan_network(tensix::lower(net.done(net.conv(net.x, 32, 3))), n150(), request), Error);
}

TEST(PlanNetwork, TakesTheQueuesThatAreFastestEndToEnd) {
  SmallNetwork net(Shape{1, 16, 12, 12});
  const tensix::LoweredGraph network = tensix::lower(net.done(net.conv(net.x, 32, 3)));
  CardPlanRequest request;
  const CardPlan device = plan_network(network, n150(), request);
  request.objective = Objective::end_to_end;
  const CardPlan both = plan_network(network, n150(), request);
  EXPECT_LE(both.end_to_end_ns, device.end_to_end_ns);
  request.metal_trace = false;
  request.command_queues = 1;
  const CardPlan plain = plan_network(network, n150(), request);
  EXPECT_FALSE(plain.metal_trace);
  EXPECT_EQ(plain.command_queues, 1);
  EXPECT_GT(plain.end_to_end_ns, both.end_to_end_ns);
}

TEST(PlanNetwork, GivesEachConvolutionItsOwnActivation) {
  const tensix::LoweredGraph network = lowered("efficientnet_like");  // silu, sigmoid and none on the same shapes
  const CardPlan plan = plan_network(network, n150(), {});
  for (std::size_t i = 0; i < network.nodes.size(); ++i)
    if (const auto* conv = network.nodes[i].layer.as<tensix::ConvLayer>()) {
      EXPECT_EQ(plan.steps[i].config.conv.activation, conv->activation) << plan.steps[i].node;
    }
}

TEST(PlanNetwork, SqueezesNothingThatLeavesTheCard) {
  const CardPlan plan = plan_network(lowered("shallow_unet"), n150(), {});
  EXPECT_EQ(plan.steps.back().result.dtype, DType::bfloat16);
  EXPECT_EQ(plan.steps.front().result.dtype, DType::bfloat8_b);
}

TEST(PlanNetwork, ComparesNoWayWithItself) {
  const CardPlan plan = plan_network(lowered("resnet18", 8), n150(), {});
  for (const PlannedStep& step : plan.steps) {
    const std::size_t at = step.why.find("slower here than '");
    if (at == std::string::npos) continue;
    EXPECT_GT(std::stod(step.why), 0) << step.node << ": " << step.why;
    const std::string other = step.why.substr(step.why.find('\'') + 1);
    if (step.moves.empty()) {
      EXPECT_FALSE(other.starts_with(step.predicted.config + "'")) << step.node << ": " << step.why;
    }
  }
}

// Stops when it is asked for the nth time.
CardPlanHooks stopping(int n, bool quick_first) {
  CardPlanHooks hooks;
  hooks.stop = [n, asked = std::make_shared<int>(0)] { return ++*asked >= n; };
  hooks.quick_first = quick_first;
  return hooks;
}

TEST(PlanNetwork, StopsWithTheBestPlanSoFarOrSaysThatThereIsNone) {
  const tensix::LoweredGraph network = lowered("resnet18");
  const auto nodes = static_cast<int>(network.nodes.size());
  try {
    plan_network(network, n150(), {}, stopping(2, true));
    FAIL() << "there was a plan";
  } catch (const Interrupted& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no plan yet"));
  }
  try {
    plan_network(network, n150(), {}, stopping(9 + nodes / 2, false));
    FAIL() << "there was a plan";
  } catch (const Interrupted& error) {
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("of {} operators were placed", nodes)));
  }
  const CardPlan plan = plan_network(network, n150(), {}, stopping(9 + nodes + nodes / 2, true));
  ASSERT_TRUE(plan.interrupted);
  EXPECT_EQ(plan.interrupted->of, nodes);
  EXPECT_GT(plan.interrupted->weighed, 0);
  EXPECT_LT(plan.interrupted->weighed, nodes);
  double kernels = 0;
  for (const tensix::SimulatedStep& step : rehearse_plan(n150(), network, plan).steps) kernels += step.time.ns;
  EXPECT_EQ(kernels, plan.kernels_ns);
}

TEST(PlanNetwork, HasTimeForAHurriedPlanAndForNoMore) {
  const tensix::LoweredGraph network = lowered("resnet18");
  CardPlanHooks hooks;
  hooks.out_of_time = [] { return true; };
  EXPECT_THROW(plan_network(network, n150(), {}, hooks), Interrupted);
  hooks.quick_first = true;
  const CardPlan plan = plan_network(network, n150(), {}, hooks);
  ASSERT_TRUE(plan.interrupted);
  EXPECT_EQ(plan.interrupted->of, static_cast<std::int64_t>(network.nodes.size()));
  // An accuracy budget is held all the same.
  CardPlanRequest request;
  request.min_pcc = 0.9;
  SmallNetwork small(Shape{1, 16, 12, 12});
  const ValueId y = small.conv(small.conv(small.x, 32, 3), 32, 3);
  const CardPlan exact = plan_network(tensix::lower(small.done(y)), n150(), request, hooks);
  ASSERT_TRUE(exact.interrupted);
  ASSERT_TRUE(exact.pcc);
  EXPECT_GE(*exact.pcc, 0.9);
}

TEST(PlanNetwork, IsTheSameAfterAHurriedOne) {
  const tensix::LoweredGraph network = lowered("mobilenet_v2");
  const CardPlan a = plan_network(network, n150(), {}), b = plan_network(network, n150(), {}, stopping(1 << 30, true));
  EXPECT_FALSE(b.interrupted);
  EXPECT_EQ(a.device_ns, b.device_ns);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].config.conv, b.steps[i].config.conv);
    ASSERT_EQ(a.steps[i].alternatives.size(), b.steps[i].alternatives.size()) << a.steps[i].node;
    for (std::size_t k = 0; k < a.steps[i].alternatives.size(); ++k)
      EXPECT_EQ(a.steps[i].alternatives[k].refusal, b.steps[i].alternatives[k].refusal);
  }
}

TEST(PlanNetwork, ReshardsNoMoreThanItMay) {
  const tensix::LoweredGraph network = lowered("mobilenet_v2", 10);
  const auto reshards = [](const CardPlan& plan) {
    const CardPlanTotals totals = totals_of(plan);
    return totals.reshards + totals.inner_reshards;
  };
  const CardPlan free = plan_network(network, n150(), {});
  ASSERT_GT(reshards(free), 8);
  CardPlanRequest request;
  request.max_reshards = 8;
  const CardPlan few = plan_network(network, n150(), request);
  EXPECT_LE(reshards(few), 8);
  EXPECT_GE(few.device_ns, free.device_ns);
  EXPECT_LE(few.device_ns, 1.1 * free.device_ns);
  request.max_reshards = reshards(free);
  EXPECT_EQ(plan_network(network, n150(), request).device_ns, free.device_ns);
}

TEST(PlanNetwork, MeetsPins) {
  const tensix::LoweredGraph network = lowered("resnet18");
  CardPlanRequest request;
  request.pins = {{"*", "shard", "BLOCK"}};
  const CardPlan plan = plan_network(network, n150(), request);
  for (const PlannedStep& step : plan.steps)
    if (step.op == "conv2d") {
      EXPECT_EQ(step.config.conv.shard_layout, TensorMemoryLayout::block_sharded) << step.node;
    }
}

TEST(PlanNetwork, SaysWhyAPinCannotBeMet) {
  const tensix::LoweredGraph network = lowered("resnet18", 16);  // more than one core holds
  CardPlanRequest request;
  request.pins = {{"*", "core_grid", "[1, 1]"}};
  try {
    plan_network(network, n150(), request);
    FAIL() << "it was met";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("core_grid"));
    EXPECT_THAT(error.what(), HasSubstr("cannot be met"));
  }
  request.pins = {{"layer9.*", "shard", "BLOCK"}};
  EXPECT_THROW(plan_network(network, n150(), request), Error);
  request.pins = {{"*", "shard", "ROUND"}};
  EXPECT_THROW(plan_network(network, n150(), request), Error);
}

}  // namespace
}  // namespace tessera::tensix
