#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tessera {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

CommandResult place(const std::string& tensor) {
  return run_tessera({"memory", "--device", "wormhole_n150", "--tensor", tensor});
}

TEST(Memory, TensorsAreListedWithWhereTheyLie) {
  const CommandResult result = run_tessera(
      {"memory", "--device", "wormhole_n150", "--l1-small", "8192", "--format", "json", "--tensor",
       "x=1x1x2048x64:bfloat16:tile:l1:height@8x8", "--tensor", "1x1x100x64:bfloat8_b:tile:dram", "--tensor",
       "1x1x32x2048:bfloat16:tile:l1:width@1x8:col_major", "--tensor", "64x100:uint16:row_major:l1_small:height@32"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json rows = json::parse(result.out)["rows"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["tensor"], "x");
  EXPECT_EQ(rows[0]["sharding"], "HEIGHT_SHARDED");
  EXPECT_EQ(rows[0]["shard"], "32x64");
  EXPECT_EQ(rows[0]["banks"], 64);
  EXPECT_EQ(rows[0]["address"], 1499136 - 8192 - 4096);
  EXPECT_EQ(rows[0]["useful_fraction"], 1.0);
  EXPECT_EQ(rows[1]["tensor"], 2);
  EXPECT_EQ(rows[1]["page_bytes"], 1088);
  EXPECT_EQ(rows[1]["pages"], 8);
  EXPECT_DOUBLE_EQ(rows[1]["padding_fraction"], 1 - 100.0 / 128);
  EXPECT_EQ(rows[2]["shard"], "32x256");
  EXPECT_EQ(rows[2]["useful_fraction"], 0.125) << "8 cores of 64";
  EXPECT_EQ(rows[3]["memory"], "L1_SMALL");
}

TEST(Memory, TheTableShowsTheStateOfEveryMemory) {
  const CommandResult result = place("1x1x64x64:bfloat16:tile:dram");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1,072,693,184"));
  EXPECT_THAT(result.out, HasSubstr("simulated device, exact bytes"));
  EXPECT_EQ(run_tessera({"memory", "--device", "blackhole_p150"}).status, 0);
  const CommandResult markdown = run_tessera({"memory", "--device", "wormhole_n150", "--format", "md", "-q"});
  EXPECT_THAT(markdown.out, HasSubstr("| L1 | 64 |"));
}

TEST(Memory, FilesAreWritten) {
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "tessera-memory-files";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const auto file = [&](const char* name) { return (directory / name).string(); };
  const CommandResult result = run_tessera(
      {"memory", "--device", "wormhole_n150", "--tensor", "<x>=64x64:bfloat16:tile:l1", "--json", file("m.json"),
       "--csv", file("m.csv"), "--svg", file("m.svg"), "--html", file("m.html"), "--reports", file("reports")});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(read_text_file(file("m.json")))["buffers"][0]["name"], "<x>");
  EXPECT_THAT(read_text_file(file("m.csv")), HasSubstr("<x>"));
  EXPECT_THAT(read_text_file(file("m.svg")), HasSubstr("&lt;x&gt;"));
  EXPECT_THAT(read_text_file(file("m.html")), HasSubstr("&lt;x&gt;"));
  for (const char* name : {"l1_usage_summary.csv", "memory_usage_summary.csv", "detailed_memory_usage.csv"})
    EXPECT_TRUE(std::filesystem::exists(directory / "reports" / name)) << name;
  std::filesystem::remove_all(directory);
}

TEST(Memory, ATensorThatCannotBeReadSaysWhatIsExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"64x64:bfloat16", "error: a tensor needs a shape, a dtype, a layout and a memory; 2 of the four were given"},
      {"64xx64:bfloat16:tile:l1", "the shape '64xx64' is not a list of positive whole numbers"},
      {"64x0:bfloat16:tile:l1", "the shape '64x0' is not a list of positive whole numbers"},
      {"64x64:bfloat61:tile:l1", "dtype 'bfloat61' is not one of float32, "},
      {"64x64:bfloat16:tiled:l1", "the layout 'tiled' is not one of tile, row_major; did you mean 'tile'?"},
      {"64x64:bfloat16:tile:l2", "the memory 'l2' is not one of dram, l1, l1_small"},
      {"64x64:bfloat16:tile:l1:heigth@8x8",
       "the sharding 'heigth' is not one of height, width, block; did you mean 'height'?"},
      {"64x64:bfloat16:tile:l1:height", "names no cores: write height@8x8"},
      {"64x64:bfloat16:tile:l1:height@", "the cores '' is not a list of positive whole numbers"},
      {"64x64:bfloat16:tile:l1:height@2x2x2", "the cores '2x2x2' must be COLUMNSxROWS or a number of cores"},
      {"64x64:bfloat16:tile:l1:height@65", "65 cores were asked for, but the device has 8 x 8"},
      {"64x64:bfloat16:tile:l1:height@99999999x9", "cores were asked for, but the device has 8 x 8"},
      {"64x64:bfloat16:tile:l1:height@8x8:up", "the orientation 'up' is not one of row_major, col_major"},
      {"64x64:bfloat16:tile:l1:height@8x8:row_major:col_major", "unexpected 'col_major' after the orientation"},
      {"64x64:bfloat16:tile:l1:height@8x8:shard=32", "the shard '32' is not HEIGHTxWIDTH"},
  };
  for (const auto& [tensor, text] : cases) {
    const CommandResult result = place(tensor);
    EXPECT_EQ(result.status, 1) << tensor;
    EXPECT_EQ(result.out, "") << tensor;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_THAT(result.err, HasSubstr(std::string("in --tensor '") + tensor + "'"));
  }
}

TEST(Memory, WhatTheDeviceRefusesIsAnError) {
  EXPECT_THAT(place("64x64:bfloat16:tile:l1:height@2:shard=33x64").err, HasSubstr("(33, 64)"));
  EXPECT_THAT(place("64x64:bfloat16:tile:l1:height@9x9").err,
              AllOf(HasSubstr("core (8, 0)"), HasSubstr("no L1 bank on this device")));
  EXPECT_THAT(place("64x64:bfloat8_b:row_major:dram").err, AllOf(HasSubstr("bfloat8_b"), HasSubstr("TILE layout")));
  const CommandResult full = place("65536x4096:bfloat16:tile:l1");
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("error: Out of Memory: "), HasSubstr("536870912 B"), HasSubstr("8388608 B")));
  EXPECT_THAT(full.err, HasSubstr("while placing --tensor '65536x4096:bfloat16:tile:l1'"));
  EXPECT_THAT(full.err, HasSubstr("hint: "));
}

TEST(Memory, OtherMachinesHaveNoBanks) {
  const CommandResult apple = run_tessera({"memory", "--device", "apple_m1"});
  EXPECT_EQ(apple.status, 1);
  EXPECT_THAT(apple.err, HasSubstr("has no memory banks"));
  EXPECT_EQ(run_tessera({"memory", "--device", "wormhole_n15"}).status, 1);
  EXPECT_EQ(run_tessera({"memory"}).status, 2);
  EXPECT_EQ(run_tessera({"memory", "--device", "wormhole_n150", "--l1-small", "much"}).status, 2);
  EXPECT_EQ(run_tessera({"memory", "--device", "wormhole_n150", "--l1-small", "-5"}).status, 1);
}

TEST(Memory, AFailureWritesNoFile) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "tessera-memory-none.svg";
  std::filesystem::remove(file);
  EXPECT_EQ(run_tessera({"memory", "--device", "wormhole_n150", "--tensor", "65536x4096:bfloat16:tile:l1", "--svg",
                         file.string()})
                .status,
            1);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(run_tessera({"memory", "--device", "wormhole_n150", "--svg", "/no/such/place/x.svg"}).status, 1);
}

}  // namespace
}  // namespace tessera
