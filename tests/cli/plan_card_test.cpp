// tessera plan MODEL --device CARD, and what follows the file it writes.

#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/io/card_plan_file.h"
#include "tessera/io/npy.h"
#include "tessera/machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace TSR_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class PlanCard : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file_atomically(folder_ / "layers.txt", "net:conv n1 h28 w28 ic32 oc64 k3x3 s1 p1 bias relu\n");
    model_ = (folder_ / "layers.txt").string() + ":net:conv";
    file_ = (folder_ / "plan.json").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  CommandResult plan(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"plan", model_, "--device", "wormhole_n150", "-o", file_};
    words.insert(words.end(), more.begin(), more.end());
    return run_tessera(words);
  }

  fs::path folder_;
  std::string model_, file_;
};

TEST_F(PlanCard, APlanIsShownWrittenAndFollowed) {
  const CommandResult planned = plan({"--mesh", "2", "--cq", "1", "--objective", "end_to_end"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out,
              AllOf(HasSubstr("conv2d"), HasSubstr("kernels"), HasSubstr("end to end"),
                    HasSubstr("1 command queue, 2 cards"), HasSubstr("reshards"), HasSubstr("written to " + file_)));
  const planner::CardPlan read = load_card_plan(file_);
  EXPECT_EQ(read.machine, "wormhole_n150");
  EXPECT_EQ(read.model, model_);
  EXPECT_EQ(read.request.mesh, 2);
  EXPECT_EQ(read.request.command_queues, 1);
  EXPECT_EQ(read.request.objective, planner::Objective::end_to_end);
  ASSERT_EQ(read.steps.size(), 1u);

  // Followed, it takes what it said.
  const CommandResult simulated = run_tessera({"simulate", file_, "--pcc", "--format", "json"});
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  const json out = json::parse(simulated.out);
  const json& step = out["steps"].back();
  EXPECT_EQ(step["l1_peak_bytes"], read.l1_peak_bytes);
  EXPECT_NEAR(step["kernel_ns"].get<double>(), read.steps[0].predicted.time.ns, 1e-3);
  EXPECT_EQ(out["time"]["executor"], "TracedModel");
  EXPECT_EQ(out["time"]["chips"], 2);
  EXPECT_GT(out["outputs"][0]["pcc"], 0.99);

  const CommandResult ran = run_tessera({"run", file_, "--output", (folder_ / "out").string()});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("by the arithmetic of the card"));
  EXPECT_EQ(load_npy(folder_ / "out" / "y.npy").shape, (std::vector<std::int64_t>{1, 64, 28, 28}));
  for (const char* command : {"explain", "plan"}) {
    const CommandResult asked = std::string(command) == "explain" ? run_tessera({"explain", file_, read.steps[0].node})
                                                                  : run_tessera({"plan", "--check", file_});
    EXPECT_THAT(asked.out, HasSubstr(command[0] == 'e' ? "chosen" : "hot paths in L1")) << asked.err;
  }
}

TEST_F(PlanCard, TheSameRequestGivesTheSameBytes) {
  ASSERT_EQ(plan().status, 0);
  const std::string once = read_text_file(file_);
  ASSERT_EQ(plan().status, 0);
  EXPECT_EQ(read_text_file(file_), once);
}

TEST_F(PlanCard, FormatsAreThoseOfOtherCommands) {
  const json out = json::parse(plan({"--format", "json"}).out);
  EXPECT_EQ(out["device"], "wormhole_n150");
  EXPECT_GT(out["device_ns"], out["kernels_ns"]);
  EXPECT_EQ(out["steps"].size(), 1u);
  EXPECT_THAT(plan({"--format", "csv"}).out, testing::StartsWith("step,node,op,config"));
  EXPECT_THAT(plan({"--format", "md"}).out, HasSubstr("| step |"));
}

TEST_F(PlanCard, PinsAreMetOrSaidToBeWrong) {
  ASSERT_EQ(plan({"--pin", "*:shard=BLOCK"}).status, 0);
  const planner::CardPlan pinned = load_card_plan(file_);
  EXPECT_EQ(pinned.steps[0].config.conv.shard_layout, TensorMemoryLayout::block_sharded);
  EXPECT_EQ(pinned.request.pins, (std::vector<planner::Pin>{{"*", "shard", "BLOCK"}}));
  for (const char* wrong : {"shard=BLOCK", "*:shard", "*:=3", ":shard=BLOCK", "*:shard="})
    EXPECT_THAT(plan({"--pin", wrong}).err, HasSubstr("PATTERN:FIELD=VALUE")) << wrong;
  EXPECT_EQ(plan({"--pin", "nothing_of_that_name:shard=BLOCK"}).status, 1);
}

TEST_F(PlanCard, OptionsOfTheOtherPlannerAreRefused) {
  const CommandResult cpu = run_tessera({"plan", model_, "--pin", "*:shard=BLOCK"});
  EXPECT_EQ(cpu.status, 1);
  EXPECT_THAT(cpu.err, AllOf(HasSubstr("--pin"), HasSubstr("for cards")));
  EXPECT_THAT(plan({"--threads", "2"}).err, AllOf(HasSubstr("--threads"), HasSubstr("this machine's own processor")));
  EXPECT_EQ(run_tessera({"plan", model_, "--device", "trainium1"}).status, 1);
  ASSERT_EQ(plan().status, 0);
  EXPECT_THAT(run_tessera({"simulate", file_, "--dtype", "float32"}).err, HasSubstr("says already"));
  EXPECT_THAT(run_tessera({"run", file_, "--exact"}).err, HasSubstr("--exact"));
  EXPECT_EQ(run_tessera({"simulate", model_}).status, 2);  // no plan, no --device
}

TEST_F(PlanCard, WhatHasChangedSinceIsNamed) {
  ASSERT_EQ(plan().status, 0);
  // Another network of the same name.
  write_file_atomically(folder_ / "layers.txt", "net:conv n1 h28 w28 ic32 oc96 k3x3 s1 p1 bias relu\n");
  const CommandResult network = run_tessera({"simulate", file_, "--null"});
  EXPECT_EQ(network.status, 1);
  EXPECT_THAT(network.err, AllOf(HasSubstr("has changed since it was planned"), HasSubstr("while following")));
  fs::remove(folder_ / "layers.txt");
  EXPECT_THAT(run_tessera({"simulate", file_, "--null"}).err, HasSubstr("--network"));
  // A machine of the same name with other numbers.
  fs::create_directories(folder_ / "machines");
  std::string machine = read_text_file(TESSERA_MACHINES_DIR "/wormhole_n150.toml");
  const std::string key = "\ngrid_x";
  const std::size_t at = machine.find(key);
  ASSERT_NE(at, std::string::npos);
  const std::size_t digit = machine.find('8', at);
  machine[digit] = '7';
  write_file_atomically(folder_ / "machines" / "wormhole_n150.toml", machine);
  const CommandResult changed =
      run_tessera({"simulate", file_, "--null"}, {{"TESSERA_MACHINES", (folder_ / "machines").string()}});
  EXPECT_EQ(changed.status, 1);
  EXPECT_THAT(changed.err, AllOf(HasSubstr((folder_ / "machines" / "wormhole_n150.toml").string()),
                                 HasSubstr("the numbers of machine wormhole_n150 have changed")));
}

TEST_F(PlanCard, AnInterruptLeavesNoHalfAFile) {
  for (const int milliseconds : {5, 60, 250}) {
    fs::remove(file_);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
        ::_exit(126);
      ::execl(TESSERA_CLI, TESSERA_CLI, "plan", "resnet18", "--device", "wormhole_n150", "-o", file_.c_str(), nullptr);
      ::_exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(child, SIGINT);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    // Killed before it planned, no plan yet, the best so far, or done already.
    EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || (WIFEXITED(status) && WEXITSTATUS(status) <= 1))
        << status;
    if (fs::exists(file_)) {
      EXPECT_EQ(load_card_plan(file_).model, "resnet18");
    }
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
    EXPECT_LE(files, fs::exists(file_) ? 2u : 1u);  // nothing temporary stays
  }
}

}  // namespace TSR_FILE
}  // namespace tessera
