#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Machines, AreListedWithWhatMakesThemComparable) {
  const CommandResult result = run_tessera({"machines"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("name "));
  EXPECT_THAT(result.out, HasSubstr("wormhole_n150"));
  EXPECT_THAT(result.out, HasSubstr("262 TFLOP/s"));
  EXPECT_EQ(result.err, "");
}

TEST(Machines, GlobalFlagsStandBeforeOrAfterTheCommand) {
  const CommandResult before = run_tessera({"--format", "json", "machines"});
  const CommandResult after = run_tessera({"machines", "--format", "json"});
  EXPECT_EQ(before.out, after.out);
  const auto document = nlohmann::json::parse(after.out);
  EXPECT_EQ(document["schema"], 1);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_MACHINES_DIR))
    files += entry.path().extension() == ".toml";
  EXPECT_EQ(document["rows"].size(), files);
  int found = 0;
  for (const auto& row : document["rows"]) {
    if (row["name"] != "wormhole_n300") continue;
    ++found;
    EXPECT_EQ(row["cores"], 128);
    EXPECT_EQ(row["dram_bytes"], 24LL << 30);
    EXPECT_EQ(row["on_chip_bytes"], 128 * 1499136);
  }
  EXPECT_EQ(found, 1);
}

TEST(Machines, ShowPrintsUnitKindAndSourceOfEveryFigure) {
  const CommandResult text = run_tessera({"machines", "show", "wormhole_n150"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("1,499,136 B (1.43 MiB)"));
  EXPECT_THAT(text.out, HasSubstr("288 GB/s"));
  EXPECT_THAT(text.out, HasSubstr("ttnn 0.81.1"));
  const CommandResult json = run_tessera({"machines", "show", "wormhole_n150", "--format", "json"});
  const auto document = nlohmann::json::parse(json.out);
  int found = 0;
  for (const auto& row : document["rows"]) {
    EXPECT_FALSE(row["source"].get<std::string>().empty());
    if (row["key"] != "l1_bytes") continue;
    EXPECT_EQ(row["value"], 1499136);
    EXPECT_EQ(row["unit"], "B");
    EXPECT_EQ(row["kind"], "published");
    ++found;
  }
  EXPECT_EQ(found, 1);
  EXPECT_THAT(run_tessera({"machines", "show", "cpu_amx", "--format", "csv"}).out,
              StartsWith("machine,group,key,value,unit,kind,source,note\r\n"));
}

TEST(Machines, UnknownNameIsAUserErrorWithAHint) {
  const CommandResult result = run_tessera({"machines", "show", "wormhole_n105"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              StartsWith("error: there is no machine 'wormhole_n105'; did you mean 'wormhole_n150'?\nhint: "));
  EXPECT_EQ(run_tessera({"machines", "show"}).status, 2);
  EXPECT_EQ(run_tessera({"machines", "show", "a", "b"}).status, 2);
}

TEST(Machines, OwnFileIsShownAndItsFaultsHaveLinesAndColumns) {
  const std::filesystem::path directory = testing::TempDir() + "tessera-own-machine";
  std::filesystem::create_directories(directory);
  const std::string path = (directory / "wide.toml").string();
  std::ofstream(path) << "inherits = \"wormhole_n150\"\ntitle = \"Wider\"\nsource = \"me\"\n[sources]\n"
                         "me = { kind = \"assumed\", text = \"what if\" }\n[chip]\ngrid_x = 16\n";
  const CommandResult good = run_tessera({"machines", "show", path});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("what if"));
  EXPECT_THAT(run_tessera({"machines"}, {{"TESSERA_MACHINES", directory.string()}}).out, HasSubstr("Wider"));
  std::ofstream(path) << "inherits = \"wormhole_n150\"\n[chip]\ngrid_z = 16\n";
  const CommandResult bad = run_tessera({"machines", "show", path});
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.err, "error: " + path + ":3:1: unknown key 'grid_z' in [chip]; did you mean 'grid_x'?\n");
  std::filesystem::remove_all(directory);
}

TEST(Machines, OutputThatCannotBeWrittenIsAnError) {
  const CommandResult result = run_tessera({"machines"}, {}, "/dev/full");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot write the output: No space left on device"));
}

}  // namespace
}  // namespace tessera
