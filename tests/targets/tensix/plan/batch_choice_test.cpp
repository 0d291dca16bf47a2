#include "tessera/targets/tensix/plan/batch_choice.h"

#include "sample_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::tensix {
namespace {

// Frames, interval and latency in us.
BatchTime time_us(std::int64_t frames, double interval, double latency) {
  return {frames, interval * 1e3, latency * 1e3};
}

const std::vector<BatchTime>& five() {
  static const std::vector<BatchTime> batches{time_us(1, 800, 1000), time_us(2, 1000, 1300), time_us(4, 1500, 2000),
                                              time_us(8, 2900, 3600), time_us(16, 6400, 7500)};
  return batches;
}

TEST(BatchChoice, IsMostFramesOrLeastTime) {
  EXPECT_EQ(choose_batch(five(), BatchGoal::throughput).best, 3u);  // 2759 frames/s
  EXPECT_EQ(choose_batch(five(), BatchGoal::latency).best, 0u);
  EXPECT_FALSE(choose_batch(five(), BatchGoal::throughput).nearest);
}

TEST(BatchChoice, StaysWithinTheBound) {
  EXPECT_EQ(choose_batch(five(), BatchGoal::throughput, 3600e3).best, 3u);  // no longer than that
  EXPECT_EQ(choose_batch(five(), BatchGoal::throughput, 3599e3).best, 2u);
  EXPECT_EQ(choose_batch(five(), BatchGoal::throughput, 1000e3).best, 0u);
  const BatchChoice none = choose_batch(five(), BatchGoal::throughput, 999e3);
  EXPECT_FALSE(none.best);
  EXPECT_EQ(none.nearest, 0u);
}

TEST(BatchChoice, OfEqualsIsTheSmaller) {
  const std::vector<BatchTime> batches{time_us(4, 2000, 2000), time_us(2, 1000, 1000), time_us(8, 4000, 1000)};
  EXPECT_EQ(choose_batch(batches, BatchGoal::throughput).best, 1u);
  EXPECT_EQ(choose_batch(batches, BatchGoal::latency).best, 1u);
}

TEST(BatchChoice, OfNoneIsNone) {
  const BatchChoice choice = choose_batch({}, BatchGoal::throughput, 1.0);
  EXPECT_FALSE(choice.best);
  EXPECT_FALSE(choice.nearest);
}

TEST(LargerBatches, AreWorthItWhileRatesGrow) {
  const std::vector<BatchTime>& b = five();
  const auto first = [&](std::size_t n) { return std::span(b).first(n); };
  EXPECT_TRUE(larger_may_serve({}, BatchGoal::latency));
  EXPECT_TRUE(larger_may_serve(first(2), BatchGoal::throughput));
  EXPECT_TRUE(larger_may_serve(first(5), BatchGoal::throughput));  // the fourth was better than all before
  std::vector<BatchTime> flat(b.begin(), b.end());
  flat.push_back(time_us(32, 12800, 14000));
  EXPECT_FALSE(larger_may_serve(flat, BatchGoal::throughput));
  flat.back().interval_ns = 11'400e3;  // 2807 frames/s: 1.7 % more
  EXPECT_TRUE(larger_may_serve(flat, BatchGoal::throughput));
}

TEST(LargerBatches, AreNoUseBeyondTheBoundNorForLatency) {
  EXPECT_FALSE(larger_may_serve(std::span(five()).first(1), BatchGoal::latency));
  EXPECT_TRUE(larger_may_serve(std::span(five()).first(2), BatchGoal::throughput, 1300e3));
  EXPECT_FALSE(larger_may_serve(std::span(five()).first(3), BatchGoal::throughput, 1300e3));
}

TEST(BatchTime, CountsTheFramesOfAllCards) {
  CardPlan plan = good_plan();
  plan.batch = 4;
  plan.request.mesh = 8;
  plan.device_ns = 2e6;
  plan.end_to_end_ns = 4e6;
  plan.latency_ns = 5e6;
  EXPECT_DOUBLE_EQ(batch_time(plan, Objective::device).frames_per_s(), 16'000);
  EXPECT_EQ(batch_time(plan, Objective::device).latency_ns, 2e6);
  EXPECT_DOUBLE_EQ(batch_time(plan, Objective::end_to_end).frames_per_s(), 8'000);
  EXPECT_EQ(batch_time(plan, Objective::end_to_end).latency_ns, 5e6);
}

TEST(BoundShare, IsOfTheTimeNotOfTheSteps) {
  CardPlan plan = good_plan();  // seven convolutions of 10 us and an addition of 2 us, all by math
  EXPECT_EQ(mostly_bound_by(plan)->by, "math");
  EXPECT_DOUBLE_EQ(mostly_bound_by(plan)->share, 1);
  plan.steps[0].predicted.time.ns = 100'000;
  plan.steps[0].predicted.time.bound_by = TimePart::dram;
  plan.steps[1].moves = {{PlannedMove::Kind::reshard, "x", kL1MemoryConfig, 38'000, ""}};
  EXPECT_EQ(mostly_bound_by(plan)->by, "DRAM");
  EXPECT_DOUBLE_EQ(mostly_bound_by(plan)->share, 0.5);
  EXPECT_FALSE(mostly_bound_by(CardPlan{}));
  CardPlan idle = good_plan();
  for (PlannedStep& step : idle.steps) step.predicted.time.ns = 0;
  EXPECT_FALSE(mostly_bound_by(idle)) << "what takes no time is bound by nothing";
}

}  // namespace
}  // namespace tessera::tensix
