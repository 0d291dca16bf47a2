// tessera plan MODEL --device CARD, and what follows the file it writes.

#include "folder_of_one_layer.h"
#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/io/npy.h"
#include "tessera/machine/machine_file.h"
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

class PlanCard : public FolderOfOneLayer {
 protected:
  void SetUp() override {
    FolderOfOneLayer::SetUp();
    file_ = (folder_ / "plan.json").string();
  }

  CommandResult plan(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"plan", model_, "--device", "wormhole_n150", "-o", file_};
    words.insert(words.end(), more.begin(), more.end());
    return run_tessera(words);
  }

  std::string file_;
};

TEST_F(PlanCard, APlanIsShownWrittenAndFollowed) {
  const CommandResult planned = plan({"--mesh", "2", "--cq", "1", "--objective", "end_to_end"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, AllOf(HasSubstr("conv2d"), HasSubstr("kernels"), HasSubstr("end to end"),
                                 HasSubstr("batch 1 on each of 2 cards"), HasSubstr("1 command queue, 2 cards"),
                                 HasSubstr("reshards"), HasSubstr("written to " + file_)));
  const tensix::CardPlan read = tensix::load_card_plan(file_);
  EXPECT_EQ(read.machine, "wormhole_n150");
  EXPECT_EQ(read.model, model_);
  EXPECT_EQ(read.request.mesh, 2);
  EXPECT_EQ(read.request.command_queues, 1);
  EXPECT_EQ(read.request.objective, tensix::Objective::end_to_end);
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
  EXPECT_EQ(out["machine"], "wormhole_n150");
  EXPECT_GT(out["totals"]["device_ns"], out["totals"]["kernels_ns"]);
  EXPECT_EQ(out["steps"].size(), 1u);
  EXPECT_EQ(out, json::parse(read_text_file(file_)));  // -o writes the same document
  EXPECT_THAT(plan({"--format", "csv"}).out, testing::StartsWith("step,node,op,config"));
  EXPECT_THAT(plan({"--format", "md"}).out, HasSubstr("| step |"));
}

TEST_F(PlanCard, PinsAreMetOrSaidToBeWrong) {
  ASSERT_EQ(plan({"--pin", "*:shard=BLOCK"}).status, 0);
  const tensix::CardPlan pinned = tensix::load_card_plan(file_);
  EXPECT_EQ(pinned.steps[0].config.conv.shard_layout, tensix::TensorMemoryLayout::block_sharded);
  EXPECT_EQ(pinned.request.pins, (std::vector<tensix::Pin>{{"*", "shard", "BLOCK"}}));
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

using PlanCardLong = PlanCard;

TEST_F(PlanCardLong, AnInterruptLeavesTheBestPlanSoFarOrNone) {
  for (const int signal : {SIGINT, SIGTERM})
    for (const int milliseconds : {40, 300, 600, 900, 1200, 1500}) {
      SCOPED_TRACE(milliseconds);
      fs::remove(file_);
      const CommandResult done = interrupt_tessera(
          {"plan", "resnet50", "--batch", "8", "--device", "wormhole_n150", "-o", file_}, signal, milliseconds);
      const std::string& text = done.err;
      if (done.killed_by != 0) {  // before it had begun to listen
        EXPECT_EQ(done.killed_by, signal);
        EXPECT_FALSE(fs::exists(file_));
      } else if (done.status == 0) {  // done already
        EXPECT_FALSE(tensix::load_card_plan(file_).interrupted);
      } else {
        EXPECT_EQ(done.status, 130) << text;
        EXPECT_THAT(text, HasSubstr("interrupted"));
        if (fs::exists(file_)) {
          const tensix::CardPlan plan = tensix::load_card_plan(file_);
          EXPECT_EQ(plan.model, "resnet50");
          EXPECT_THAT(text, HasSubstr(plan.interrupted ? "the best plan found so far" : "nothing is missing"));
          EXPECT_EQ(read_text_file(file_).find("\"interrupted\": true") != std::string::npos,
                    plan.interrupted.has_value());
        } else {
          EXPECT_THAT(text, AllOf(HasSubstr("plan yet"), HasSubstr("was not written")));
        }
      }
      for (const auto& entry : fs::directory_iterator(folder_))  // nothing temporary stays
        EXPECT_TRUE(entry.path() == file_ || entry.path().extension() == ".txt") << entry.path();
    }
}

TEST_F(PlanCard, WhatCannotBeWrittenIsToldBeforeThePlanIsSought) {
  const auto told = [&](std::vector<std::string> words, const std::string& says) {
    words.insert(words.begin(), {"plan", model_, "--device", "wormhole_n150"});
    const CommandResult result = run_tessera(words);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(says));
  };
  const std::string missing = (folder_ / "missing").string(), here = folder_.string();
  told({"-o", missing + "/plan.json"}, "cannot write " + missing + "/plan.json: No such file or directory");
  told({"-o", here}, "it is a directory");
  told({"--html", layer_.string() + "/r.html"}, "cannot write");
  told({"--emit", "ttnn", missing + "/s.py"}, "No such file or directory");
  told({"--emit", "ttnn", here}, "it is a directory");
  told({"--emit", "ttnn", here + "/s.safetensors"}, "would be written twice");
  told({"-o", here + "/a.json", "--html", here + "/../" + folder_.filename().string() + "/a.json"},
       "would be written twice");
  EXPECT_FALSE(fs::exists(missing));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // the network
  EXPECT_FALSE(fs::exists(here + ".safetensors"));
}

TEST_F(PlanCard, TooLittleL1SmallSaysWhatToGive) {
  const CommandResult result = plan({"--l1-small", "0"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("L1_SMALL"), HasSubstr("--l1-small 32768")));
}

TEST_F(PlanCard, AnotherBatchThanThatOfThePlanIsRefused) {
  ASSERT_EQ(plan().status, 0);
  for (const char* command : {"simulate", "run"}) {
    const CommandResult other = run_tessera({command, file_, "--batch", "3"});
    EXPECT_EQ(other.status, 1) << command;
    EXPECT_THAT(other.err, HasSubstr("--batch is 3, but the plan is for batches of 1"));
    EXPECT_THAT(run_tessera({command, file_, "--shape", "x:1x32x14x14"}).err, HasSubstr("conflicts with the plan"));
  }
  EXPECT_EQ(run_tessera({"simulate", file_, "--null", "--batch", "1"}).status, 0);
  EXPECT_THAT(run_tessera({"plan", "--check", file_, "-o", (folder_ / "z.json").string()}).err,
              HasSubstr("--check only reads one"));
}

}  // namespace
}  // namespace tessera
