#include "tessera/targets/tensix/plan/step_memory.h"

#include "tests/targets/tensix/plan/sample_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

const LiveValue* find(const std::vector<LiveValue>& values, const std::string& value) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const LiveValue& v) { return v.value == value; });
  return found == values.end() ? nullptr : &*found;
}

TEST(StepMemory, ValuesLiveFromTheirMakerToWhoFreesThem) {
  const auto live = live_values(good_plan(), 64);
  ASSERT_EQ(live.size(), 8u);
  EXPECT_EQ(find(live[0], "x")->role, LiveValue::Role::read);
  EXPECT_EQ(find(live[0], "x")->made_by, LiveValue::kNetwork);
  EXPECT_EQ(find(live[0], "x")->l1_bytes, 0);
  EXPECT_EQ(find(live[0], "stem.out")->role, LiveValue::Role::made);
  for (std::size_t s = 2; s < 7; ++s) {
    const LiveValue* skip = find(live[s], "stem.out");
    ASSERT_NE(skip, nullptr) << s;
    EXPECT_EQ(skip->role, LiveValue::Role::waiting) << s;
    EXPECT_EQ(skip->l1_bytes, 4096);
    EXPECT_EQ(skip->made_by, 0u);
    EXPECT_EQ(skip->next_reader, 7u);
  }
  EXPECT_EQ(find(live[7], "stem.out")->role, LiveValue::Role::read);
  EXPECT_EQ(find(live[3], "conv1.out"), nullptr);  // freed by conv2
  EXPECT_NE(find(live[2], "conv1.out"), nullptr);
}

TEST(StepMemory, MovesTakeValuesElsewhere) {
  CardPlan plan = good_plan();
  plan.steps[2].moves = {{PlannedMove::Kind::spill, "stem.out", kDramMemoryConfig, 100, ""}};
  plan.steps[7].moves = {
      {PlannedMove::Kind::restore, "stem.out", sharded(TensorMemoryLayout::height_sharded, 128, 32, 8, 4), 100, ""}};
  const auto live = live_values(plan, 64);
  EXPECT_EQ(find(live[1], "stem.out")->l1_bytes, 4096);
  EXPECT_EQ(find(live[2], "stem.out")->l1_bytes, 0);
  EXPECT_TRUE(find(live[6], "stem.out")->memory.is_dram());
  EXPECT_EQ(find(live[7], "stem.out")->l1_bytes, 8192);  // 128 x 32 bfloat16
}

TEST(StepMemory, BytesOfACoreFollowFromThePlacement) {
  Placement placement{Shape({1, 1, 4096, 32}), DType::bfloat16, Layout::tile, kL1MemoryConfig};
  EXPECT_EQ(l1_bytes_of(placement, 64), 2 * 2048);  // 128 tiles on 64 cores
  EXPECT_EQ(l1_bytes_of(placement, 100), 2 * 2048);
  EXPECT_EQ(l1_bytes_of(placement, 128), 2048);
  placement.memory = kDramMemoryConfig;
  EXPECT_EQ(l1_bytes_of(placement, 64), 0);
  placement.memory = sharded(TensorMemoryLayout::height_sharded, 31, 32, 8, 8);  // no whole tiles
  EXPECT_EQ(l1_bytes_of(placement, 64), 0);
}

TEST(StepMemory, WhatWasChosenIsKnownAmongTheAlternatives) {
  PlannedStep step = good_conv("conv", "x", "y");
  EXPECT_EQ(weighed_ns(step), 10'000);  // not among them
  EXPECT_EQ(fastest_other(step)->ns, 14'000);
  step.alternatives.push_back({"HEIGHT_SHARDED 64x32, act_block_h 64", "", 11'000, 0, true});  // with gaps
  EXPECT_EQ(weighed_ns(step), 11'000);
  EXPECT_EQ(fastest_other(step)->ns, 14'000);
  // What reads like it is another way all the same.
  step.alternatives.push_back({"HEIGHT_SHARDED 64x32, act_block_h 64", "", 12'000, 0});
  EXPECT_EQ(weighed_ns(step), 11'000);
  EXPECT_EQ(fastest_other(step)->ns, 12'000);
}

TEST(StepMemory, PlacesAreSaidInAFewWords) {
  EXPECT_EQ(place_text(kDramMemoryConfig), "DRAM");
  EXPECT_EQ(place_text(kL1MemoryConfig), "L1 interleaved");
  EXPECT_EQ(place_text(sharded(TensorMemoryLayout::block_sharded, 64, 32, 8, 7)),
            "L1 BLOCK_SHARDED 64x32 on 8x7 cores");
  const CoreRangeSet two({CoreRange({0, 0}, {7, 6}), CoreRange({0, 7}, {6, 7})});
  EXPECT_EQ(place_text(MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1, ShardSpec{two, {64, 32}})),
            "L1 HEIGHT_SHARDED 64x32 on 63 cores");
}

}  // namespace
}  // namespace tessera::tensix
