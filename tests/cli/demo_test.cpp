#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tessera {
namespace {

using testing::HasSubstr;

class DemoOn : public testing::TestWithParam<const char*> {};

TEST_P(DemoOn, RunsItsChecksAndLeavesItsFiles) {
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "tessera-demo" / GetParam();
  std::filesystem::remove_all(directory);
  const CommandResult result = run_tessera({"demo", "--device", GetParam(), "-o", directory.string()});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("check: all of 12,845,056 bytes came back unchanged: exact"));
  EXPECT_THAT(result.out, HasSubstr("Out of Memory: "));
  EXPECT_THAT(result.out, HasSubstr("check: nothing on the device changed"));
  EXPECT_THAT(result.out, HasSubstr("Plans predict times"));
  for (const char* name : {"memory.html", "memory.svg", "memory.csv", "reports/l1_usage_summary.csv",
                           "reports/memory_usage_summary.csv", "reports/detailed_memory_usage.csv"})
    EXPECT_TRUE(std::filesystem::file_size(directory / name) > 0) << name;
  const auto state = nlohmann::json::parse(read_text_file(directory / "memory.json"));
  EXPECT_EQ(state["device"]["machine"], GetParam());
  EXPECT_EQ(state["buffers"].size(), 6u);
  for (const auto& buffer : state["buffers"]) EXPECT_NE(buffer["name"], "");
  EXPECT_EQ(state["moves"][0]["op"], "to_device");
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Machines, DemoOn,
                         testing::Values("wormhole_n150", "wormhole_n300", "blackhole_p100", "blackhole_p150"));

TEST(Demo, MachinesWithoutBanksAreRefused) {
  const CommandResult result =
      run_tessera({"demo", "--device", "cpu_amx", "-o", testing::TempDir() + "/tessera-demo-none"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("has no memory banks"));
  EXPECT_FALSE(std::filesystem::exists(testing::TempDir() + "/tessera-demo-none"));
}

TEST(Demo, AnOutputThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(run_tessera({"demo", "-q", "-o", "/proc/no-such-place"}).status, 1);
}

}  // namespace
}  // namespace tessera
