#include "folder_of_one_layer.h"
#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class SimulateFleet : public FolderOfOneLayer {
 protected:
  SimulateFleet() : FolderOfOneLayer(4) {}

  CommandResult simulate(std::vector<std::string> more) const {
    std::vector<std::string> words{"simulate", model_, "--metal-trace", "--cq", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_tessera(words);
  }
  json parsed(std::vector<std::string> more) const {
    more.insert(more.end(), {"--format", "json"});
    const CommandResult result = simulate(more);
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }
};

TEST_F(SimulateFleet, AFleetOfOneIsTheCard) {
  const json plain = parsed({"--device", "wormhole_n150", "--null"});
  const json fleet = parsed({"--device", "wormhole_n150", "--mesh", "1x1"});
  const double frames_per_s = plain["time"]["end_to_end_frames_per_s"];
  const double rounding = 1e-6 * frames_per_s;  // picoseconds of a step of microseconds
  EXPECT_NEAR(fleet["fleet"][0]["frames_per_s"].get<double>(), frames_per_s, rounding);
  EXPECT_EQ(fleet["kind"], "simulated");
}

TEST_F(SimulateFleet, AMeshHasHostsCardsAndABottleneck) {
  const json out = parsed({"--device", "wormhole_n150", "--mesh", "8x4"});
  ASSERT_EQ(out["fleet"].size(), 1u);
  const json& row = out["fleet"][0];
  EXPECT_EQ(row["chips"], 32);
  EXPECT_EQ(row["hosts"], 4);
  EXPECT_EQ(row["frames"], 32 * 4);
  EXPECT_GT(row["efficiency"], 0);
  EXPECT_LE(row["efficiency"].get<double>(), 1 + 1e-9);
  EXPECT_EQ(row["bottleneck"], "host dispatch");  // a layer alone is over before eight chips have been told
  EXPECT_GT(row["weights_ms"], 0);
}

TEST_F(SimulateFleet, SizesAndLoadsAreSwept) {
  const fs::path svg = folder_ / "fleet.svg";
  const json out = parsed({"--device", "fleet_10000", "--cards", "1,100,10000", "--load", "0.5,0.9", "--requests",
                           "20000", "--fleet-svg", svg.string()});
  ASSERT_EQ(out["fleet"].size(), 3u);
  ASSERT_EQ(out["serving"].size(), 6u);
  EXPECT_EQ(out["fleet"][2]["cards"], 10'000);
  double last = 0;
  for (const json& row : out["fleet"]) {
    EXPECT_GT(row["frames_per_s"], last);
    last = row["frames_per_s"];
  }
  for (const json& row : out["serving"]) {
    EXPECT_LE(row["p50_ms"], row["p99_ms"]);
    EXPECT_LE(row["p99_ms"], row["p999_ms"]);
    EXPECT_EQ(row["kind"], "simulated");
  }
  EXPECT_EQ(out["failures"].front()["spares"], 1);
  EXPECT_EQ(out["failures"].back()["spares"], 41);  // the file has 40 for 9,960 cards
  EXPECT_THAT(read_text_file(svg), AllOf(HasSubstr("<svg"), HasSubstr("p99.9"), HasSubstr("efficiency")));
  const CommandResult csv = simulate({"--device", "fleet_t3000", "--cards", "1,2", "--format", "csv", "--quiet"});
  EXPECT_THAT(csv.out, HasSubstr("cards,chips,hosts,frames,frames_per_s,efficiency"));
}

TEST_F(SimulateFleet, SizesThatCannotKeepUpAreTold) {
  const json out =
      parsed({"--device", "wormhole_n150", "--cards", "1,64", "--arrivals", "50000", "--requests", "5000"});
  ASSERT_EQ(out["serving"].size(), 2u);
  EXPECT_EQ(out["serving"][0]["kind"], "cannot keep up");
  EXPECT_TRUE(out["serving"][0]["p99_ms"].is_null());
  EXPECT_EQ(out["serving"][1]["kind"], "simulated");
}

TEST_F(SimulateFleet, FailuresAndSparesAreServedWith) {
  const json out = parsed(
      {"--device", "fleet_t3000", "--load", "0.8", "--requests", "50000", "--spares", "0,2", "--failures", "1e9"});
  ASSERT_EQ(out["failures"].size(), 2u);
  EXPECT_GT(out["failures"][0]["failures"], 0);
  EXPECT_LT(out["failures"][0]["full_share"], out["failures"][1]["full_share"]);
}

TEST_F(SimulateFleet, ABatchIsSharded) {
  const CommandResult result =
      run_tessera({"simulate", "resnet18", "--device", "fleet_t3000", "--global-batch", "16", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json out = json::parse(result.out);
  EXPECT_EQ(out["batch"], 2);
  EXPECT_EQ(out["fleet"][0]["frames"], 16);
}

TEST_F(SimulateFleet, MistakesAreNamed) {
  EXPECT_THAT(simulate({"--device", "fleet_t3000", "--global-batch", "33"}).err,
              AllOf(HasSubstr("33 frames do not split over 8 chips"), HasSubstr("32 or 40 frames would do")));
  EXPECT_THAT(simulate({"--device", "wormhole_n150", "--mesh", "8y4"}).err, HasSubstr("--mesh 8x4"));
  EXPECT_EQ(simulate({"--device", "wormhole_n150", "--mesh", "0x4"}).status, 2);
  EXPECT_THAT(simulate({"--device", "fleet_t3000", "--failures", "10"}).err, HasSubstr("needs requests"));
  EXPECT_THAT(simulate({"--device", "fleet_t3000", "--arrivals", "1e12"}).err, HasSubstr("the queue would grow"));
}

TEST_F(SimulateFleet, OptionsThatWouldDoNothingAreRefused) {
  for (const char* option : {"--requests", "--max-wait", "--failures"})
    EXPECT_THAT(simulate({"--device", "fleet_t3000", option, "10"}).err,
                HasSubstr(std::string(option) + " needs requests"));
  EXPECT_THAT(simulate({"--device", "wormhole_n150", "--mesh", "2x2", "--cards", "3"}).err,
              HasSubstr("--mesh and --cards exclude each other"));
}

TEST_F(SimulateFleet, RatesWithoutAnEndAreRefused) {
  const CommandResult failing = simulate({"--device", "fleet_t3000", "--load", "0.8", "--failures", "1e15"});
  EXPECT_EQ(failing.status, 1);
  EXPECT_THAT(failing.err, HasSubstr("hardly any would be finished"));
  for (const auto& [option, value] :
       {std::pair("--failures", "nan"), std::pair("--arrivals", "1e-300"), std::pair("--load", "nan"),
        std::pair("--max-wait", "nan"), std::pair("--requests", "1000000000"), std::pair("--spares", "99999999999")}) {
    const CommandResult result = simulate({"--device", "fleet_t3000", option, value});
    EXPECT_EQ(result.status, 2) << option;
    EXPECT_THAT(result.err, HasSubstr(std::string("'") + value + "' is not a "));
  }
}

}  // namespace
}  // namespace tessera
