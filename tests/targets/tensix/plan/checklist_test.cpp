#include "tessera/targets/tensix/plan/checklist.h"

#include "tests/targets/tensix/plan/sample_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CheckItem item(const CardPlan& plan, const std::string& name) {
  for (CheckItem& each : check_plan(plan, 64))
    if (each.name == name) return each;
  ADD_FAILURE() << name;
  return {};
}

TEST(Checklist, AGoodPlanPassesThemAll) {
  const std::vector<CheckItem> items = check_plan(good_plan(), 64);
  EXPECT_EQ(items.size(), 12u);
  for (const CheckItem& each : items) {
    EXPECT_EQ(each.verdict, CheckVerdict::pass) << each.name << ": " << each.evidence;
    EXPECT_FALSE(each.evidence.empty()) << each.name;
  }
}

TEST(Checklist, AnEmptyPlanIsNoMishap) { EXPECT_EQ(check_plan({}, 64).size(), 12u); }

TEST(Checklist, ResultsInDramBetweenNeighboursAreNamed) {
  CardPlan plan = good_plan();
  plan.steps[3].result.memory = kDramMemoryConfig;
  plan.steps[3].predicted.time.dram_ns = 100;
  const CheckItem small = item(plan, "hot paths in L1");
  EXPECT_EQ(small.verdict, CheckVerdict::warn);
  EXPECT_THAT(small.evidence, AllOf(HasSubstr("6 of 7"), HasSubstr("1 would fit")));
  ASSERT_EQ(small.findings.size(), 1u);
  EXPECT_THAT(small.findings[0], AllOf(HasSubstr("conv3.out in DRAM, 4096 B"), HasSubstr("it would fit")));
  plan.steps[3].predicted.time.dram_ns = 9'000;
  EXPECT_EQ(item(plan, "hot paths in L1").verdict, CheckVerdict::fail);
  plan.steps[4].predicted.l1_peak_bytes = plan.l1_limit_bytes - 4095;
  const CheckItem full = item(plan, "hot paths in L1");
  EXPECT_EQ(full.verdict, CheckVerdict::warn);
  EXPECT_THAT(full.findings[0], HasSubstr("it does not fit"));
}

TEST(Checklist, ConvolutionsWithoutALayoutFail) {
  CardPlan plan = good_plan();
  plan.steps[1].config.conv_fields.clear();
  const CheckItem found = item(plan, "sharding selected");
  EXPECT_EQ(found.verdict, CheckVerdict::fail);
  EXPECT_THAT(found.findings, testing::ElementsAre(HasSubstr("conv1")));
  EXPECT_THAT(found.evidence, HasSubstr("6 HEIGHT_SHARDED"));
}

TEST(Checklist, AnInputInOtherShardsIsSeenUnlessAReshardIsPlanned) {
  CardPlan plan = good_plan();
  plan.steps[2].config.conv.shard_layout = TensorMemoryLayout::block_sharded;
  const CheckItem found = item(plan, "sharding matches between neighbours");
  EXPECT_EQ(found.verdict, CheckVerdict::warn);
  EXPECT_THAT(found.findings, testing::ElementsAre("conv2: is BLOCK_SHARDED, reads conv1.out as HEIGHT_SHARDED"));
  plan.steps[2].moves = {{PlannedMove::Kind::reshard, "conv1.out",
                          sharded(TensorMemoryLayout::block_sharded, 512, 32, 1, 8), 1000, "wanted so"}};
  EXPECT_EQ(item(plan, "sharding matches between neighbours").verdict, CheckVerdict::pass);
}

TEST(Checklist, AConvolutionWithoutALayoutWantsNoShards) {
  CardPlan plan = good_plan();
  EXPECT_THAT(item(plan, "sharding matches between neighbours").evidence, HasSubstr("6 of 6 sharded inputs"));
  plan.steps[2].config.conv.shard_layout.reset();
  EXPECT_THAT(item(plan, "sharding matches between neighbours").evidence, HasSubstr("5 of 5 sharded inputs"));
}

TEST(Checklist, ReshardsThatDoNotPayAreNamed) {
  CardPlan plan = good_plan();
  plan.steps[2].moves = {{PlannedMove::Kind::reshard, "conv1.out",
                          sharded(TensorMemoryLayout::block_sharded, 512, 32, 1, 8), 500, "wanted so"}};
  const CheckItem pays = item(plan, "reshards minimal");  // 10.5 us, the best other way 14 us
  EXPECT_EQ(pays.verdict, CheckVerdict::pass);
  EXPECT_THAT(pays.evidence, HasSubstr("1 reshard of 0.5 us"));
  plan.steps[2].alternatives[0].ns = 6'000;
  EXPECT_EQ(item(plan, "reshards minimal").verdict, CheckVerdict::warn);
  plan.steps[2].moves[0].ns = 20'000;
  const CheckItem dear = item(plan, "reshards minimal");
  EXPECT_EQ(dear.verdict, CheckVerdict::fail);
  EXPECT_THAT(dear.findings[0], AllOf(HasSubstr("conv2"), HasSubstr("20.0 us"), HasSubstr("BLOCK_SHARDED 512x32")));
}

TEST(Checklist, DoubleBuffersAreAskedForWhereDataIsWaitedFor) {
  CardPlan plan = good_plan();
  plan.steps[1].config.conv.enable_act_double_buffer = false;
  EXPECT_EQ(item(plan, "double buffers where they pay").verdict, CheckVerdict::pass);  // bound by math
  plan.steps[1].predicted.time.bound_by = TimePart::reader;
  const CheckItem found = item(plan, "double buffers where they pay");
  EXPECT_EQ(found.verdict, CheckVerdict::warn);
  EXPECT_THAT(found.findings, testing::ElementsAre(AllOf(HasSubstr("conv1"), HasSubstr("reader"))));
  plan.steps[1].predicted.act_block_h = 0;  // as a product
  EXPECT_EQ(item(plan, "double buffers where they pay").verdict, CheckVerdict::pass);
  plan.steps[1] = good_plan().steps[1];
  plan.steps[1].config.conv.enable_weights_double_buffer = false;
  plan.steps[1].predicted.time.bound_by = TimePart::multicast;
  EXPECT_EQ(item(plan, "double buffers where they pay").verdict, CheckVerdict::warn);
  plan.steps[1].predicted.l1_peak_bytes = plan.l1_limit_bytes - 99'999;  // no room for as much again
  EXPECT_EQ(item(plan, "double buffers where they pay").verdict, CheckVerdict::pass);
}

TEST(Checklist, BlocksThatNobodyWeighedFail) {
  CardPlan plan = good_plan();
  plan.steps[1].alternatives[0].ns = 5'000;
  const CheckItem slower = item(plan, "block sizes tuned");
  EXPECT_EQ(slower.verdict, CheckVerdict::warn);
  EXPECT_THAT(slower.findings, testing::ElementsAre(HasSubstr("conv1: takes 10.0 us")));
  for (PlannedStep& step : plan.steps) step.alternatives.clear();
  EXPECT_EQ(item(plan, "block sizes tuned").verdict, CheckVerdict::fail);
}

TEST(Checklist, ColdSkipsInAFullL1AreNamed) {
  CardPlan plan = good_plan();
  const CheckItem roomy = item(plan, "skips in DRAM when cold");
  EXPECT_EQ(roomy.verdict, CheckVerdict::pass);
  EXPECT_THAT(roomy.evidence, HasSubstr("1 value wait longer than 4 steps: 0 in DRAM, 1 in L1"));
  plan.steps[4].predicted.l1_peak_bytes = plan.l1_limit_bytes - 100;
  plan.steps[4].config.height_slices = true;
  const CheckItem cramped = item(plan, "skips in DRAM when cold");
  EXPECT_EQ(cramped.verdict, CheckVerdict::warn);
  EXPECT_THAT(cramped.findings[0], AllOf(HasSubstr("stem.out: 4096 B"), HasSubstr("conv4")));
  plan.steps[2].moves = {{PlannedMove::Kind::spill, "stem.out", kDramMemoryConfig, 100, ""}};
  const CheckItem spilled = item(plan, "skips in DRAM when cold");
  EXPECT_EQ(spilled.verdict, CheckVerdict::pass);
  EXPECT_THAT(spilled.findings[0], HasSubstr("in DRAM for 5 steps until add"));
}

TEST(Checklist, ScalingAfterAConvolutionIsAnUnfoldedNormalisation) {
  CardPlan plan = good_plan();
  plan.steps[2].op = "multiply";
  plan.steps[2].role = CallRole::scales;
  const CheckItem found = item(plan, "batch normalisation folded");
  EXPECT_EQ(found.verdict, CheckVerdict::fail);  // 10 of 72 us
  EXPECT_THAT(found.findings, testing::ElementsAre(HasSubstr("conv2: multiply after conv1")));
}

TEST(Checklist, WideWeightsNeedAReason) {
  CardPlan plan = good_plan();
  plan.steps[1].config.weights_dtype = DType::bfloat16;
  EXPECT_EQ(item(plan, "weights bfloat8_b").verdict, CheckVerdict::fail);
  plan.request.min_pcc = 0.999;
  const CheckItem asked = item(plan, "weights bfloat8_b");
  EXPECT_EQ(asked.verdict, CheckVerdict::warn);
  EXPECT_THAT(asked.evidence, AllOf(HasSubstr("6 bfloat8_b"), HasSubstr("1 bfloat16"), HasSubstr("0.999")));
}

TEST(Checklist, AccuracyIsMeasuredAndEnough) {
  CardPlan plan = good_plan();
  plan.request.min_pcc = 0.9999;
  EXPECT_EQ(item(plan, "activation types chosen by layer").verdict, CheckVerdict::fail);
  plan.pcc.reset();
  EXPECT_EQ(item(plan, "activation types chosen by layer").verdict, CheckVerdict::warn);
}

TEST(Checklist, WorkOnTheHostFails) {
  CardPlan plan = good_plan();
  plan.steps[3].role = CallRole::host;
  EXPECT_EQ(item(plan, "conversions handled").verdict, CheckVerdict::fail);
  plan.steps[3].role = CallRole::converts;
  EXPECT_EQ(item(plan, "conversions handled").verdict, CheckVerdict::warn);
}

TEST(Checklist, MoreThanL1Fails) {
  CardPlan plan = good_plan();
  plan.l1_peak_bytes = plan.l1_limit_bytes + 1;
  EXPECT_EQ(item(plan, "memory profiled").verdict, CheckVerdict::fail);
}

}  // namespace
}  // namespace tessera::tensix
