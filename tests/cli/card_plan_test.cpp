// What commands do with plans for cards that lie in files.

#include "run_command.h"
#include "tests/targets/tensix/plan/sample_plan.h"

#include "tessera/core/file.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tensix::CardPlan;
using tensix::good_plan;
using tensix::PlannedMove;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CardPlanFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string saved(const CardPlan& plan, const std::string& name = "plan.json") const {
    tensix::save_card_plan(folder_ / name, plan);
    return (folder_ / name).string();
  }

  fs::path folder_;
};

TEST_F(CardPlanFiles, ExplainSaysWhatWasChosenAndWhyNotOtherwise) {
  CardPlan plan = good_plan();
  plan.steps[2].moves = {{PlannedMove::Kind::reshard, "conv1.out",
                          tensix::sharded(tensix::TensorMemoryLayout::block_sharded, 512, 32, 1, 8), 1500,
                          "conv2 is faster so"}};
  const CommandResult result = run_tessera({"explain", saved(plan), "conv2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("conv2: conv2d, step 3 of 8 of residual on wormhole_n150"),
                    HasSubstr("chosen  HEIGHT_SHARDED 64x32"), HasSubstr("least time"),
                    HasSubstr("reshard conv1.out to L1 BLOCK_SHARDED 512x32 on 1x8 cores, 1.5 us: conv2 is faster so"),
                    HasSubstr("bound by math, 50.0 % of the roof")));
  // Parts of its time; what lies in L1 around it; the others.
  EXPECT_THAT(result.out, AllOf(HasSubstr("reader"), HasSubstr("40.0%"), HasSubstr("stem.out 4,096 (waiting)"),
                                HasSubstr("[##"), HasSubstr("WIDTH_SHARDED 4096x32"),
                                HasSubstr("needs 1,500,000 of 1,395,424 B"), HasSubstr("+2.5 us")));
  EXPECT_THAT(result.out, Not(HasSubstr("conv6")));  // further away than that
}

TEST_F(CardPlanFiles, ExplainKnowsNodesByWhatTheyMake) {
  const std::string plan = saved(good_plan());
  const CommandResult result = run_tessera({"explain", plan, "conv3.out", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json out = json::parse(result.out);
  EXPECT_EQ(out["node"], "conv3");
  EXPECT_EQ(out["given"]["shard_layout"], "HEIGHT_SHARDED");
  ASSERT_EQ(out["l1"].size(), 7u);
  EXPECT_EQ(out["l1"][3]["explained"], true);
  EXPECT_EQ(out["alternatives"][0]["verdict"], "chosen");
  EXPECT_EQ(out["alternatives"][1]["more_ns"], 4000);
  EXPECT_EQ(out["alternatives"][2]["verdict"], "refused");
  for (const char* format : {"md", "csv"})
    EXPECT_EQ(run_tessera({"explain", plan, "conv3", "--format", format}).status, 0) << format;
}

TEST_F(CardPlanFiles, ExplainGuessesWhatWasMeant) {
  const CommandResult result = run_tessera({"explain", saved(good_plan()), "cnov3"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no node 'cnov3'; did you mean 'conv3'?"));
  const CommandResult far = run_tessera({"explain", saved(good_plan()), "something_else_entirely"});
  EXPECT_THAT(far.err, HasSubstr("it has stem, conv1"));
}

TEST_F(CardPlanFiles, ChecklistsGiveEvidence) {
  const CommandResult good = run_tessera({"plan", "--check", saved(good_plan())});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, AllOf(HasSubstr("hot paths in L1"), HasSubstr("7 of 7 results"), HasSubstr("12 of 12 pass")));

  CardPlan plan = good_plan();
  plan.steps[1].config.weights_dtype = DType::bfloat16;
  const CommandResult bad = run_tessera({"plan", saved(plan), "--check"});
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("weights bfloat8_b"), HasSubstr("conv1: bfloat16"), HasSubstr("1 fail")));
  EXPECT_THAT(bad.err, HasSubstr("1 of 12 checks fail"));
  const json out = json::parse(run_tessera({"plan", saved(plan), "--check", "--format", "json"}).out);
  EXPECT_EQ(out["failed"], 1);
  EXPECT_EQ(out["checks"].size(), 12u);
}

TEST_F(CardPlanFiles, TwoPlansAreComparedLayerByLayer) {
  CardPlan second = good_plan();
  second.steps[2].config.conv.act_block_h_override = 32;
  second.steps[2].config.conv_fields.push_back("act_block_h_override");
  second.steps[2].predicted.config = "HEIGHT_SHARDED 64x32, act_block_h 32";
  second.steps[2].predicted.time.ns = 15'000;
  second.steps[2].pcc = 0.99;
  second.kernels_ns += 5'000;
  const std::string a = saved(good_plan(), "a.json"), b = saved(second, "b.json");
  const CommandResult result = run_tessera({"compare", "--plans", a, b});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("config, time, PCC"), HasSubstr("act_block_h 32"),
                                HasSubstr("+5 us (+50.0%)"), HasSubstr("1 of 8 layers differ"), HasSubstr("kernels")));
  const json out = json::parse(run_tessera({"compare", "--plans", a, b, "--format", "json"}).out);
  EXPECT_EQ(out["different_layers"], 1);
  EXPECT_EQ(out["layers"][2]["more_ns"], 5000);
  EXPECT_EQ(out["totals"][0]["more"], 5000);
  EXPECT_EQ(run_tessera({"compare"}).status, 2);
  EXPECT_EQ(run_tessera({"compare", "--plans", a}).status, 2);
  EXPECT_EQ(run_tessera({"compare", "resnet18", "--plans", a, b}).status, 1);
}

TEST_F(CardPlanFiles, APlanOfAnotherMachineOrNetworkIsNotFollowed) {
  const std::string plan = saved(good_plan());
  for (const char* command : {"simulate", "run"}) {
    const CommandResult result = run_tessera({command, plan});
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_THAT(result.err, AllOf(HasSubstr("wormhole_n150.toml has digest"), HasSubstr("00000000000000bb")));
  }
}

TEST_F(CardPlanFiles, OtherCommandsDoNotTakeOneForAModel) {
  const std::string plan = saved(good_plan());
  const CommandResult result = run_tessera({"profile", plan});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("not a network"), HasSubstr("simulate")));
}

}  // namespace
}  // namespace tessera
