#include "tessera/targets/tensix/plan/plan_difference.h"

#include "tests/targets/tensix/plan/sample_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlanDifference, APlanIsNoDifferentFromItself) {
  const CardPlan plan = good_plan();
  const PlanDifference same = compare_plans(plan, plan);
  EXPECT_EQ(same.layers.size(), plan.steps.size());
  EXPECT_EQ(same.different(), 0u);
  EXPECT_TRUE(same.remarks.empty());
}

TEST(PlanDifference, EachWayInWhichALayerCanDifferIsSeen) {
  const CardPlan first = good_plan();
  CardPlan second = good_plan();
  second.steps[0].config.conv.shard_layout = TensorMemoryLayout::block_sharded;
  second.steps[1].predicted.time.ns += 1;
  second.steps[2].result.memory = kDramMemoryConfig;
  second.steps[3].moves = {{PlannedMove::Kind::reshard, "conv2.out", kL1MemoryConfig, 10, ""}};
  second.steps[4].pcc = 0.5;
  const PlanDifference found = compare_plans(first, second);
  EXPECT_EQ(found.different(), 5u);
  const auto flags = [&](std::size_t i) {
    const LayerDifference& l = found.layers[i];
    return std::vector<bool>{l.config, l.time, l.placement, l.moves, l.pcc};
  };
  EXPECT_THAT(flags(0), ElementsAre(true, false, false, false, false));
  EXPECT_THAT(flags(1), ElementsAre(false, true, false, false, false));
  EXPECT_THAT(flags(2), ElementsAre(false, false, true, false, false));
  EXPECT_THAT(flags(3), ElementsAre(false, false, false, true, false));
  EXPECT_THAT(flags(4), ElementsAre(false, false, false, false, true));
  EXPECT_THAT(flags(5), ElementsAre(false, false, false, false, false));
  EXPECT_EQ(found.totals[0].reshards, 0);
  EXPECT_EQ(found.totals[1].reshards, 1);
  EXPECT_EQ(found.totals[1].moves_ns, 10);
  EXPECT_EQ(found.totals[1].steps_ns, found.totals[0].steps_ns + 1);
}

TEST(PlanDifference, LayersOfOnePlanAloneStandWhereTheyCome) {
  CardPlan first = good_plan(), second = good_plan();
  first.steps.erase(first.steps.begin() + 2);    // conv2
  second.steps.erase(second.steps.begin() + 4);  // conv4
  const PlanDifference found = compare_plans(first, second);
  std::vector<std::string> nodes;
  for (const LayerDifference& layer : found.layers)
    nodes.push_back(layer.node + (layer.steps[0] ? "" : " B") + (layer.steps[1] ? "" : " A"));
  EXPECT_THAT(nodes, ElementsAre("stem", "conv1", "conv2 B", "conv3", "conv4 A", "conv5", "conv6", "add"));
}

TEST(PlanDifference, WhatBothWereMadeForIsRemarked) {
  CardPlan second = good_plan();
  second.machine = "blackhole_p150";
  second.request.min_pcc = 0.99;
  EXPECT_THAT(compare_plans(good_plan(), second).remarks,
              ElementsAre("machines: wormhole_n150 and blackhole_p150", HasSubstr("0 and 0.99")));
}

}  // namespace
}  // namespace tessera::tensix
