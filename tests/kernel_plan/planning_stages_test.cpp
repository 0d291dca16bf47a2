// Which passes and planning stages run, by their names.

#include "tessera/kernel_plan/planning_stages.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlanningStagesTest, EveryStageIsLeftOutByItsNameAlone) {
  std::set<std::vector<bool>> seen;
  for (const PlanningStage& stage : planning_stages()) {
    const Optimisations left = without(std::vector{std::string(stage.name)});
    EXPECT_EQ(left.chains + left.orders + left.parts, 2) << stage.name;
    EXPECT_TRUE(left.passes.off.empty());
    seen.insert({left.chains, left.orders, left.parts});
  }
  EXPECT_EQ(seen.size(), planning_stages().size());
}

TEST(PlanningStagesTest, NamesOfPassesAreHandedToThem) {
  const Optimisations left = without(std::vector<std::string>{"dead_code", "order", "fold_pads"});
  EXPECT_THAT(left.passes.off, ElementsAre("dead_code", "fold_pads"));
  EXPECT_TRUE(left.chains && left.parts);
  EXPECT_FALSE(left.orders);
}

TEST(PlanningStagesTest, StagesAndPassesShareNoName) {
  for (const PlanningStage& stage : planning_stages())
    for (const Pass& pass : all_passes()) EXPECT_NE(stage.name, pass.name);
}

TEST(PlanningStagesTest, AMisspeltNameIsRefusedWithTheNearest) {
  try {
    without(std::vector<std::string>{"place_part"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::not_found);
    EXPECT_THAT(e.what(), HasSubstr("no pass 'place_part'"));
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'place_parts'?"));
  }
}

}  // namespace
}  // namespace tessera
