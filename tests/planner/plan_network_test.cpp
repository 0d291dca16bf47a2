#include "tessera/planner/plan_network.h"

#include "small_networks.h"

#include "tessera/core/error.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"
#include "tessera/planner/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::planner {
namespace TSR_FILE {

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
  PlanRequest request;
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
  PlanRequest request;
  request.pins = {{"conv*", "shard", "WIDTH"}};
  EXPECT_THROW(plan_network(tensix::lower(net.done(net.conv(net.x, 32, 3))), n150(), request), Error);
}

TEST(PlanNetwork, MeetsPins) {
  const tensix::LoweredGraph network = lowered("resnet18");
  PlanRequest request;
  request.pins = {{"*", "shard", "BLOCK"}};
  const CardPlan plan = plan_network(network, n150(), request);
  for (const PlannedStep& step : plan.steps)
    if (step.op == "conv2d") {
      EXPECT_EQ(step.config.conv.shard_layout, TensorMemoryLayout::block_sharded) << step.node;
    }
}

TEST(PlanNetwork, SaysWhyAPinCannotBeMet) {
  const tensix::LoweredGraph network = lowered("resnet18", 16);  // more than one core holds
  PlanRequest request;
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

}  // namespace TSR_FILE
}  // namespace tessera::planner
