#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace tessera {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kData = std::string(TESSERA_TEST_DATA) + "/tensix/";

TEST(BenchTiming, PredictsTheSampleOfMeasuredOperators) {
  const CommandResult result =
      run_tessera({"bench", "timing", "--ops", kData + "measured_ops.json", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json out = json::parse(result.out);
  const json& summary = out["summary"];
  EXPECT_EQ(summary["all"]["n"], out["rows"].size());
  EXPECT_LE(summary["conv2d"]["median_abs_error"], 0.08);
  EXPECT_LE(summary["conv2d"]["p90_abs_error"], 0.25);
  EXPECT_LE(summary["matmul"]["median_abs_error"], 0.08);
  EXPECT_LE(summary["matmul"]["p90_abs_error"], 0.25);
  EXPECT_LE(summary["all"]["median_abs_error"], 0.15);
  for (const json& row : out["rows"]) {
    EXPECT_GT(row["predicted_ns"], 0);
    EXPECT_NEAR(row["error"], row["predicted_ns"].get<double>() / row["measured_ns"].get<double>() - 1, 1e-9);
    EXPECT_LE(row["roof_fraction"], 1.0) << row["name"];
  }
}

TEST(BenchTiming, PredictsTheSampleOfProducts) {
  const CommandResult result = run_tessera({"bench", "timing", "--gemm", kData + "gemm.csv", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_LE(json::parse(result.out)["summary"]["gemm"]["median_abs_error"], 0.08);
}

TEST(BenchTiming, FoldsPredictEachRowWithoutIt) {
  const CommandResult given = run_tessera({"bench", "timing", "--gemm", kData + "gemm.csv", "--format", "json"});
  const CommandResult folded =
      run_tessera({"bench", "timing", "--gemm", kData + "gemm.csv", "--folds", "5", "--format", "json"});
  ASSERT_EQ(folded.status, 0) << folded.err;
  const json a = json::parse(given.out), b = json::parse(folded.out);
  ASSERT_EQ(a["rows"].size(), b["rows"].size());
  EXPECT_NE(a["rows"][0]["predicted_ns"], b["rows"][0]["predicted_ns"]);
  EXPECT_EQ(folded.out,
            run_tessera({"bench", "timing", "--gemm", kData + "gemm.csv", "--folds", "5", "--format", "json"}).out);
}

TEST(BenchTiming, PrintsTablesPricesAndAPicture) {
  const std::string picture = (std::filesystem::temp_directory_path() / "tessera_timing_test.svg").string();
  const CommandResult table = run_tessera({"bench", "timing", "--ops", kData + "measured_ops.json", "--svg", picture});
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("median |error|"));
  std::ifstream file(picture);
  const std::string svg((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(svg, HasSubstr("<circle"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  std::filesystem::remove(picture);
  const CommandResult prices = run_tessera({"bench", "timing", "--gemm", kData + "gemm.csv", "--fit"});
  ASSERT_EQ(prices.status, 0) << prices.err;
  EXPECT_THAT(prices.out, HasSubstr("# Wormhole\n[cost]\n"));
}

TEST(BenchTiming, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(run_tessera({"bench", "timing"}).err, HasSubstr("no measured times were given"));
  const std::string path = (std::filesystem::temp_directory_path() / "tessera_timing_test.json").string();
  const auto with = [&](const std::string& text) {
    std::ofstream(path) << text;
    return run_tessera({"bench", "timing", "--ops", path}).err;
  };
  EXPECT_THAT(with("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(with("{}"), HasSubstr("no list 'ops'"));
  EXPECT_THAT(with(R"({"ops": [{"op": "MoveDeviceOperation"}]})"),
              HasSubstr("row 1 (MoveDeviceOperation) lacks something"));
  EXPECT_THAT(with(R"({"ops": [{"op": "Sorting"}]})"), HasSubstr("no row can be priced"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera
