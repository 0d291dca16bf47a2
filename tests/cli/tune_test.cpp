#include "run_command.h"
#include "tessera/core/csv.h"

#include "tessera/core/error.h"
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

std::string cell(const Csv& csv, std::size_t row, const std::string& column) {
  return csv.rows.at(row).at(static_cast<std::size_t>(csv.find(column)));
}

std::vector<std::string> layer(const std::vector<std::string>& more) {
  std::vector<std::string> words{"tune", "conv2d",        "--device", "wormhole_n150",  "--batch", "16", "--height",
                                 "56",   "--in-channels", "64",       "--out-channels", "64"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Answers of the real ttnn, with the columns that say what it was asked.
TEST(Tune, FillsInATableAsTheRealOneDoes) {
  const std::string golden_path = std::string(TESSERA_TEST_DATA) + "/ttnn/conv_l1.csv";
  const std::string path = (std::filesystem::path(testing::TempDir()) / "tessera-tune.csv").string();
  const CommandResult result =
      run_tessera({"tune", "conv2d", "--device", "wormhole_n150", "--table", golden_path, "-o", path, "-q"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Csv golden = parse_csv(read_text_file(golden_path)), ours = parse_csv(read_text_file(path));
  ASSERT_EQ(ours.columns, golden.columns);
  ASSERT_EQ(ours.rows.size(), golden.rows.size());
  ASSERT_GT(golden.rows.size(), 20u);
  for (std::size_t i = 0; i < golden.rows.size(); ++i) {
    SCOPED_TRACE(cell(golden, i, "name"));
    for (const char* column : {"name", "shard", "status", "conv_cb_bytes", "conv_cb_list", "halo_out_bytes_per_core",
                               "conv_out_bytes_per_core", "nodispatch_status", "out_mem", "out_shard", "out_cores"})
      EXPECT_EQ(cell(ours, i, column), cell(golden, i, column)) << column;
    if (cell(golden, i, "status") == "ok") {
      for (const char* column : {"normal_peak_cb", "normal_peak_l1", "normal_peak_total", "nodispatch_peak_total"})
        EXPECT_EQ(cell(ours, i, column), cell(golden, i, column)) << column;
    } else {
      EXPECT_EQ(cell(ours, i, "error").substr(0, 25), cell(golden, i, "error").substr(0, 25));
    }
  }
}

TEST(Tune, SweepsALayerAndMarksOneRow) {
  const CommandResult result = run_tessera(layer({"--format", "json"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const json rows = json::parse(result.out)["rows"];
  ASSERT_GT(rows.size(), 40u);
  int best = 0, refused = 0;
  for (const json& row : rows) {
    best += row["best"].get<bool>();
    refused += row["verdict"] != "yes";
    if (row["best"].get<bool>()) {
      EXPECT_EQ(row["verdict"], "yes");
    }
  }
  EXPECT_EQ(best, 1);
  EXPECT_GT(refused, 0) << "width shards of this layer do not fit";
  EXPECT_EQ(rows[0]["sharding"], "HEIGHT_SHARDED");
  EXPECT_EQ(rows[0]["circular_buffer_bytes"], 629696);
  EXPECT_EQ(rows[0]["halo_bytes"], 136192);
  EXPECT_EQ(rows[0]["output_bytes"], 102400);
  EXPECT_EQ(rows[0]["peak_bytes"], 868624);
  EXPECT_EQ(rows[0]["cores"], 63);
}

TEST(Tune, SweepsOnlyWhatItIsTold) {
  const CommandResult result = run_tessera(layer(
      {"--sharding", "height,block", "--act-block-h", "64,48", "--double-buffer", "none,both", "--format", "json"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const json rows = json::parse(result.out)["rows"];
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_THAT(rows[2]["verdict"].get<std::string>(), AllOf(HasSubstr("(48)"), HasSubstr("64 is")));
  EXPECT_TRUE(rows[2]["circular_buffer_bytes"].is_null());
  EXPECT_EQ(rows[1]["double_buffer"], "both");
}

TEST(Tune, TheTableSaysByWhichRuleARowIsMarked) {
  const CommandResult result = run_tessera(layer({"--sharding", "height"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("the fastest row that fits"), HasSubstr("868,624"), HasSubstr("HEIGHT_SHARDED")));
}

TEST(Tune, SaysWhatIsWrongWithALayerOrATable) {
  EXPECT_EQ(run_tessera({"tune", "conv2d", "--device", "wormhole_n150", "--height", "56"}).status, 2);
  EXPECT_THAT(run_tessera(layer({"--dtype", "int7"})).err, HasSubstr("int7"));
  EXPECT_THAT(run_tessera(layer({"--padding", "1,2,3"})).err, HasSubstr("--padding"));
  EXPECT_EQ(run_tessera(layer({"--table", "x.csv"})).status, 2) << "a table has its own layers";
  const CommandResult impossible = run_tessera(layer({"--groups", "3"}));
  EXPECT_EQ(impossible.status, 1);
  EXPECT_THAT(impossible.err, HasSubstr("3 groups"));
  const CommandResult elsewhere = run_tessera(
      {"tune", "conv2d", "--device", "apple_m1", "--height", "8", "--in-channels", "8", "--out-channels", "8"});
  EXPECT_EQ(elsewhere.status, 1);
  const std::string path = (std::filesystem::path(testing::TempDir()) / "tessera-tune-bad.csv").string();
  const auto table = [&](const std::string& text) {
    write_file_atomically(path, text);
    return run_tessera({"tune", "conv2d", "--device", "wormhole_n150", "--table", path}).err;
  };
  EXPECT_THAT(table("name,N\nx,1\n"), HasSubstr("no column 'H'"));
  EXPECT_THAT(table("name,N\nx,1,2\n"), HasSubstr("line 2 has 3 fields"));
  EXPECT_THAT(table("name,N\nx,many\n"), HasSubstr("'many'"));
  EXPECT_THAT(table(""), HasSubstr("empty"));
}

TEST(Csv, ReadsQuotedFieldsAndRefusesBrokenOnes) {
  const Csv csv = parse_csv("a,b\r\n\"1,\"\"2\"\"\n3\",x\n\n4,\n");
  ASSERT_EQ(csv.rows.size(), 2u);
  EXPECT_EQ(csv.rows[0][0], "1,\"2\"\n3");
  EXPECT_EQ(csv.rows[1][1], "");
  EXPECT_EQ(csv.find("b"), 1);
  EXPECT_EQ(csv.find("c"), -1);
  EXPECT_THROW(parse_csv("a\n\"x"), Error);
  EXPECT_THROW(parse_csv("a\n\"x\"y\n"), Error);
}

}  // namespace
}  // namespace tessera
