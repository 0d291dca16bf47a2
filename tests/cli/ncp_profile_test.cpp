#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tessera {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<std::pair<std::string, std::string>> own_cache() {
  return {{"XDG_CACHE_HOME", (std::filesystem::path(testing::TempDir()) / "cache").string()}};
}

json rows_of(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const CommandResult result = run_tessera(words, own_cache());
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out);
}

TEST(NcpProfile, ListsDevicesAndShowsOne) {
  const json rows = rows_of({"ncp", "devices"})["rows"];
  ASSERT_EQ(rows.size(), 16u);
  EXPECT_EQ(rows[1]["device"], "apple_m1_max");
  EXPECT_EQ(rows[1]["min_tflops"], 8);
  EXPECT_EQ(rows[15]["kind"], "measured");
  const CommandResult one = run_tessera({"ncp", "devices", "M1 Pro", "--json"});
  EXPECT_EQ(json::parse(one.out)["backbone_units"], json({128, 128}));
}

TEST(NcpProfile, ModelsALayerOnAnAppleDevice) {
  const json out = rows_of({"ncp", "profile", "--device", "apple_m1_max", "--all"});
  ASSERT_EQ(out["profiles"].size(), 4u);
  for (const json& profile : out["profiles"]) EXPECT_EQ(profile["kind"], "modelled");
  EXPECT_EQ(out["profiles"][0]["values"]["batch_size"], 256);
  const CommandResult table = run_tessera({"ncp", "profile", "--device", "m1", "--wiring", "AutoNCP(32,4)"});
  EXPECT_THAT(table.out, HasSubstr("modelled, not measured"));
}

TEST(NcpProfile, MeasuresALayerOnTheHost) {
  const json out = rows_of({"ncp", "profile", "--units", "16", "--batch", "8", "--runs", "3", "--no-backbone"});
  EXPECT_EQ(out["profiles"][0]["kind"], "measured");
  EXPECT_GT(out["profiles"][0]["values"]["tflops"], 0);
}

TEST(NcpProfile, ShowsKernelsAndFusion) {
  const json kernels = rows_of({"ncp", "profile", "--device", "m1", "--cell", "ltc", "--wiring", "AutoNCP(16,4)",
                                "--kernels", "--fusion", "full"})["rows"];
  EXPECT_EQ(kernels[0]["kernel"], "sensory synapses");
  EXPECT_EQ(kernels[1]["launches"], 6 * 16);
  const json fusion = rows_of({"ncp", "profile", "--device", "m1", "--fusion-report"})["rows"];
  EXPECT_GT(fusion[0]["kernels_per_step"], fusion[1]["kernels_per_step"]);
  EXPECT_EQ(fusion[2]["kernels_per_step"], 3);
}

TEST(NcpProfile, WritesARoofline) {
  const std::string file = (std::filesystem::path(testing::TempDir()) / "roof.svg").string();
  ASSERT_EQ(run_tessera({"ncp", "profile", "--device", "m1", "--roofline", file}).status, 0);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(text.str(), testing::StartsWith("<svg"));
  EXPECT_THAT(text.str(), HasSubstr("Apple M1"));
}

TEST(NcpValidate, SaysWhichTargetsOfTheGuideAreMissedAndWhatWouldMeetThem) {
  const json rows = rows_of({"ncp", "validate", "--guide"})["rows"];
  ASSERT_EQ(rows.size(), 16u);
  for (const json& row : rows) {
    EXPECT_EQ(row["kind"], "modelled");
    EXPECT_FALSE(row["why"].get<std::string>().empty());
    EXPECT_EQ(row["ok"], row["check"] == "memory" ? row["value"] <= row["target"] : row["value"] >= row["target"]);
  }
  EXPECT_EQ(rows[0]["device"], "apple_m1");
  EXPECT_EQ(rows[0]["ok"], false);
  const json ways = rows_of({"ncp", "validate", "--guide", "--ways"})["rows"];
  EXPECT_GT(ways.size(), 8u);
}

TEST(NcpValidate, FailsWhenAskedTo) {
  EXPECT_EQ(run_tessera({"ncp", "validate", "--device", "m1"}).status, 0);
  const CommandResult strict = run_tessera({"ncp", "validate", "--device", "m1", "--strict"});
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.err, HasSubstr("at least 2 is asked for"));
}

TEST(NcpLint, NamesWhatToChange) {
  const json rows = rows_of({"ncp", "lint", "--device", "m1", "--units", "255"})["rows"];
  EXPECT_EQ(rows[0]["rule"], "power-of-two");
}

TEST(NcpProfile, RefusesWhatMakesNoSense) {
  const CommandResult unknown = run_tessera({"ncp", "profile", "--device", "m7"}, own_cache());
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("apple_m1, apple_m1_max, apple_m1_pro, apple_m1_ultra, apple_m2"));
  EXPECT_EQ(run_tessera({"ncp", "profile", "--device", "m1", "--wiring", "AutoNCP(16,4)", "--units", "3"}).status, 1);
  EXPECT_EQ(run_tessera({"ncp", "profile", "--device", "m1", "--batch", "0"}).status, 2);
  EXPECT_EQ(run_tessera({"ncp", "validate", "--device", "m1", "--cell", "ltc", "--units", "8", "--ways"}).status, 1);
  const auto refused = [](std::vector<std::string> words, const char* text) {
    words.insert(words.begin(), "ncp");
    const CommandResult result = run_tessera(words, own_cache());
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  refused({"profile", "--units", "8", "--fusion", "none"}, "--fusion has no effect: figures of host are measured");
  refused({"profile", "--device", "m1", "--runs", "3"}, "--runs has no effect: figures of apple_m1 are modelled");
  refused({"validate", "--guide", "--ways", "--fusion", "full"}, "--fusion has no effect: --ways compares them");
}

}  // namespace
}  // namespace tessera
