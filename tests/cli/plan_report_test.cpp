// Reports that `tessera plan --device CARD` writes.

#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(PlanReportOfACommand, EveryFormatIsWrittenFromOneSearch) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "tessera-plan-report";
  std::filesystem::remove_all(folder);
  const std::string html = (folder / "r.html").string(), data = (folder / "r.json").string();
  const CommandResult result = run_tessera({"plan", "resnet18", "--device", "wormhole_n150", "--html", html, "--report",
                                            data, "--report", (folder / "r.md").string()});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("report in " + html), HasSubstr("report in " + data)));
  EXPECT_THAT(read_text_file(html), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(read_text_file(folder / "r.md"), HasSubstr("What would help next"));
  const auto report = nlohmann::json::parse(read_text_file(data));
  EXPECT_EQ(report["model"], "resnet18");
  EXPECT_GT(report["device_ns"].get<double>(), report["kernels_ns"].get<double>());
  EXPECT_FALSE(report["l1"]["programs"].empty());
  std::filesystem::remove_all(folder);
}

TEST(PlanReportOfACommand, ANameWithoutAFormatIsRefusedBeforeTheSearch) {
  const CommandResult result = run_tessera({"plan", "resnet50", "--device", "wormhole_n150", "--html", "report.pdf"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("report.pdf"), HasSubstr(".html, .md, .csv, .json or .txt")));
}

TEST(PlanReportOfACommand, IsForCardsOnly) {
  const CommandResult result = run_tessera({"plan", "resnet18", "--html", "report.html"});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("is for cards"));
}

}  // namespace
}  // namespace tessera
