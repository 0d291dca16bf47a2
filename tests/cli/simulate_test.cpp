#include "folder_of_one_layer.h"
#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Simulate : public FolderOfOneLayer {};

TEST_F(Simulate, ALayerIsComparedWithFloat32) {
  const CommandResult result =
      run_tessera({"simulate", model_, "--device", "wormhole_n150", "--pcc", "--format", "json", "--memory-reports",
                   (folder_ / "reports").string(), "--html", (folder_ / "l1.html").string()});
  ASSERT_EQ(result.status, 0) << result.err;
  const json out = json::parse(result.out);
  EXPECT_EQ(out["device"], "wormhole_n150");
  ASSERT_EQ(out["steps"].size(), 1u);
  EXPECT_EQ(out["steps"][0]["op"], "conv2d");
  EXPECT_GT(out["steps"][0]["circular_buffer_bytes"], 0);
  EXPECT_GT(out["steps"][0]["halo_bytes"], 0);
  EXPECT_GT(out["steps"][0]["l1_peak_bytes"], out["steps"][0]["halo_bytes"].get<int>());
  EXPECT_GT(out["outputs"][0]["pcc"], 0.999);
  EXPECT_EQ(out["outputs"][0]["pcc"], out["steps"][0]["pcc"]);
  EXPECT_TRUE(fs::exists(folder_ / "reports" / "steps.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "reports" / "l1_timeline.svg"));
  EXPECT_THAT(read_text_file(folder_ / "l1.html"), AllOf(HasSubstr("<svg"), HasSubstr("conv2d"), HasSubstr("limit")));
  std::size_t summaries = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "reports"))
    summaries += entry.path().string().ends_with("l1_usage_summary.csv");
  EXPECT_EQ(summaries, 1u);
}

TEST_F(Simulate, FewerPhasesCostAccuracy) {
  const auto error_at = [&](const std::string& fidelity) {
    const CommandResult result = run_tessera({"simulate", model_, "--device", "wormhole_n150", "--weights-dtype",
                                              "bfloat16", "--fidelity", fidelity, "--format", "json"});
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["outputs"][0]["max_relative_error"].get<double>();
  };
  EXPECT_GT(error_at("LoFi"), 1.5 * error_at("HiFi4"));
}

TEST_F(Simulate, ANetworkRunsWithoutValues) {
  const CommandResult result = run_tessera({"simulate", "resnet18", "--device", "blackhole_p150", "--null"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("max_pool2d"), HasSubstr("linear"), HasSubstr("most L1 in"), HasSubstr("simulated")));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("PCC")));
}

TEST_F(Simulate, MistakesAreNamed) {
  const std::string layer = model_;
  const CommandResult cpu = run_tessera({"simulate", layer, "--device", "cpu_avx2"});
  EXPECT_EQ(cpu.status, 1);
  EXPECT_THAT(cpu.err, HasSubstr("no memory banks"));
  const fs::path config = folder_ / "config.json";
  write_file_atomically(config, R"({"layer_that_is_not": {"act_block_h_override": 32}})");
  const CommandResult unknown =
      run_tessera({"simulate", layer, "--device", "wormhole_n150", "--null", "--layer-configs", config.string()});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("'layer_that_is_not'"));
  EXPECT_EQ(run_tessera({"simulate", layer, "--device", "wormhole_n150", "--null", "--pcc"}).status, 1);
}

TEST_F(Simulate, WhatDoesNotFitIsTheCardsOwnError) {
  const fs::path config = folder_ / "config.json";
  write_file_atomically(config, R"({"*": {"act_block_h_override": 48}})");
  const CommandResult result =
      run_tessera({"simulate", model_, "--device", "wormhole_n150", "--null", "--layer-configs", config.string()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("must be a multiple of 32"), HasSubstr("while running")));
}

TEST_F(Simulate, DeviceAndEndToEndTimeAreShownApart) {
  const std::string trace = (folder_ / "t.json").string();
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"simulate", model_, "--device", "wormhole_n150", "--null", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run_tessera(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out)["time"];
  };
  const json plain = run({}), traced = run({"--metal-trace", "--mesh", "2", "--trace", trace});
  EXPECT_EQ(plain["executor"], "Model");
  EXPECT_EQ(traced["executor"], "TracedModel");
  EXPECT_EQ(traced["frames"], 2);
  EXPECT_GT(plain["device_ms"], 0);
  EXPECT_EQ(plain["device_ms"], traced["device_ms"]);
  EXPECT_GT(plain["end_to_end_ms"], traced["end_to_end_ms"].get<double>());
  double parts = 0;
  for (const auto& [name, ms] : plain["parts_ms"].items()) parts += ms.get<double>();
  EXPECT_NEAR(parts, plain["end_to_end_ms"].get<double>(), 1e-6);
  const json events = json::parse(read_text_file(trace));
  EXPECT_EQ(events["otherData"]["times"], "simulated");
  EXPECT_GT(events["traceEvents"].size(), 100u);
  // Processors of a core, in the picture and no longer than the program they are of.
  std::set<std::string> lanes;
  for (const json& event : events["traceEvents"])
    if (event["ph"] == "M" && event["name"] == "thread_name") lanes.insert(event["args"]["name"].get<std::string>());
  for (const char* lane : {"busiest core: reader", "busiest core: compute", "busiest core: writer"})
    EXPECT_TRUE(lanes.contains(lane)) << lane;
  EXPECT_EQ(plain["basis"], "scaled") << "a halo was never measured on Wormhole";
}

TEST_F(Simulate, SeparateTransfersNeedATraceAndTwoQueues) {
  const CommandResult result =
      run_tessera({"simulate", model_, "--device", "wormhole_n150", "--null", "--separate-transfers"});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("needs a trace and two command queues"));
}

}  // namespace
}  // namespace tessera
