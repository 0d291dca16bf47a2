// tessera plan MODEL --device CARD --batches LIST.

#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PlanBatches : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = (folder_ / "plan.json").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static CommandResult plan(std::vector<std::string> more) {
    std::vector<std::string> words{"plan", "resnet18", "--device", "wormhole_n150"};
    words.insert(words.end(), more.begin(), more.end());
    return run_tessera(words);
  }
  static json plan_json(std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "json"});
    const CommandResult done = plan(std::move(more));
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out);
  }

  fs::path folder_;
  std::string file_;
};

using PlanBatchesLong = PlanBatches;

TEST_F(PlanBatchesLong, TheBestIsThePlanOfItsBatchAlone) {
  const json out = plan_json({"--batches", "4,1-2,1", "--mesh", "2", "-o", file_});
  ASSERT_EQ(out["batches"].size(), 3u);
  double most = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const json& row = out["batches"][i];
    EXPECT_EQ(row["batch"], 1 << i);
    const double rate = row["device_frames_per_s"];
    EXPECT_NEAR(rate, (2 << i) / row["device_ns"].get<double>() * 1e9, 1e-6 * rate);  // of both cards
    EXPECT_GT(row["latency_ns"], row["device_ns"]);
    EXPECT_GT(row["l1_peak_bytes"], 0);
    EXPECT_NE(row["bound_by"], "");
    if (rate > most) {
      most = rate;
      EXPECT_EQ(out["chosen"]["batch"] == row["batch"], row["verdict"] == "chosen");
    }
  }
  const std::int64_t best = out["chosen"]["batch"];
  EXPECT_EQ(out["batches"][best / 2]["device_frames_per_s"], most);
  const std::string chosen = read_text_file(file_);
  ASSERT_EQ(plan({"--batch", std::to_string(best), "--mesh", "2", "-o", file_}).status, 0);
  EXPECT_EQ(read_text_file(file_), chosen);
}

TEST_F(PlanBatchesLong, ABoundOnLatencyIsKept) {
  const json free = plan_json({"--batches", "1,2,4", "--objective", "end_to_end"});
  const double one = free["batches"][0]["latency_ns"], two = free["batches"][1]["latency_ns"];
  ASSERT_LT(one, two);
  const json bound = plan_json(
      {"--batches", "1,2,4", "--objective", "end_to_end", "--max-latency", std::to_string((one + two) / 2) + "ns"});
  EXPECT_EQ(bound["chosen"]["batch"], 1);
  EXPECT_THAT(bound["batches"][1]["verdict"].get<std::string>(), HasSubstr("too late"));
  EXPECT_EQ(plan_json({"--batches", "1,2", "--goal", "latency"})["chosen"]["batch"], 1);

  const CommandResult none = plan({"--batches", "1,2", "--max-latency", "10us", "-o", file_});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.out, AllOf(HasSubstr("too late"), Not(HasSubstr("chosen"))));  // the table is shown all the same
  EXPECT_THAT(none.err, AllOf(HasSubstr("no batch meets the limit of 10 us"), HasSubstr("the closest is 1 with"),
                              HasSubstr("too much"), HasSubstr("hint: use --max-latency")));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(PlanBatches, FormatsAndFilesAreThoseOfOnePlan) {
  const std::string report = (folder_ / "report.md").string();
  const CommandResult table = plan({"--batches", "1,2", "-o", file_, "--report", report});
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("batch  kernels"), HasSubstr("chosen: batch 2, most frames/s on the device"),
                               HasSubstr("planned 2 batches in"), HasSubstr("written to " + file_),
                               HasSubstr("report in " + report)));
  EXPECT_EQ(tensix::load_card_plan(file_).batch, 2);
  EXPECT_TRUE(fs::exists(report));
  EXPECT_THAT(plan({"--batches", "1", "--format", "csv"}).out, testing::StartsWith("batch,kernels_ns,device_ns"));
}

TEST_F(PlanBatches, WrongListsAndTimesAreSaidToBeWrong) {
  for (const char* wrong : {"", "0", "a", "1,", ",1", "1,,2", "-1", "8-2", "1-", "1.5", "1 2", "99999999999999999999"})
    EXPECT_NE(plan({"--batches", wrong}).status, 0) << wrong;
  EXPECT_THAT(plan({"--batches", "1,x"}).err, AllOf(HasSubstr("'x' is not a number"), HasSubstr("--batches 1-8")));
  EXPECT_THAT(plan({"--batches", "8-2"}).err, HasSubstr("ends before it begins"));
  EXPECT_THAT(plan({"--batches", "1-1000000"}).err, HasSubstr("more than 64"));
  EXPECT_THAT(plan({"--batches", "1,2", "--batch", "4"}).err,
              AllOf(HasSubstr("--batch 4"), HasSubstr("--batches 1,2")));
  for (const char* wrong : {"5", "ms", "0ms", "-1ms", "nanms", "infms", "5 ms", "5min", "1e300s"})
    EXPECT_THAT(plan({"--batches", "1", "--max-latency", wrong}).err, HasSubstr("is not a positive time")) << wrong;
  EXPECT_EQ(plan({"--max-latency", "5ms"}).status, 2);  // needs --batches
  EXPECT_EQ(plan({"--goal", "latency"}).status, 2);
  EXPECT_THAT(run_tessera({"plan", "resnet18", "--batches", "1,2"}).err, HasSubstr("for cards"));
  EXPECT_THAT(plan({"--batches", "1,2", "--pin", "nothing_of_that_name:shard=BLOCK"}).err,
              HasSubstr("nothing_of_that_name"));
}

TEST_F(PlanBatches, ABatchThatTheModelFixesIsSaid) {
  const std::string model = (folder_ / "fixed.onnx").string();
  ASSERT_EQ(run_tessera({"export", "mobilenet_v2", model}).status, 0);
  const CommandResult fixed = run_tessera({"plan", model, "--device", "wormhole_n150", "--batches", "2,4"});
  EXPECT_EQ(fixed.status, 1);
  EXPECT_THAT(fixed.err, AllOf(HasSubstr("the model fixes its batch, which cannot be 2"), HasSubstr("open batch")));
}

TEST_F(PlanBatches, ABudgetLeavesOutWhatItHasNoTimeFor) {
  const json out = plan_json({"--batches", "1,2,4,8", "--budget", "0.001"});
  EXPECT_EQ(out["chosen"]["batch"], 1);
  ASSERT_EQ(out["batches"].size(), 4u);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_THAT(out["batches"][i]["verdict"].get<std::string>(), HasSubstr("not planned: the --budget of 0.001 s"));
}

TEST_F(PlanBatchesLong, AnInterruptLeavesTheBestOfThoseThatArePlanned) {
  for (const int milliseconds : {50, 1500, 4000}) {
    SCOPED_TRACE(milliseconds);
    fs::remove(file_);
    const CommandResult done = interrupt_tessera(
        {"plan", "resnet18", "--batches", "1-16", "--device", "wormhole_n150", "-o", file_}, SIGINT, milliseconds);
    if (done.killed_by != 0) continue;  // before it had begun to listen
    const std::string& text = done.err;
    EXPECT_EQ(done.status, 130) << text;
    EXPECT_THAT(text, HasSubstr("interrupted"));
    if (fs::exists(file_))
      EXPECT_THAT(text,
                  HasSubstr(tensix::load_card_plan(file_).interrupted ? "marked as interrupted" : "holds its plan"));
    else
      EXPECT_THAT(text, HasSubstr("was not written"));
  }
}

}  // namespace
}  // namespace tessera
