#include "tessera/targets/tensix/views/plan_report.h"
#include "tessera/kernel_plan/plan.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/views/plan_tables.h"

#include "plan_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tessera::tensix {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<int> percent_of(const PlanReport& report, std::size_t which) {
  std::vector<int> out;
  for (const auto& [cores, percent] : report.shares.at(which))
    for (int i = 0; i < cores; ++i) out.push_back(percent);
  return out;
}

TEST(PlanReport, HasTheNumbersOfThePlan) {
  const SamplePlan sample;
  const PlanReport report = sample.report();
  ASSERT_EQ(report.steps.size(), sample.plan.steps.size());
  EXPECT_EQ(report.device_ns, sample.plan.device_ns);
  EXPECT_EQ(report.end_to_end_ns, sample.plan.end_to_end_ns);
  EXPECT_EQ(report.l1_peak_bytes, 9500);
  EXPECT_EQ(report.moves_ns(), 1200);
  EXPECT_EQ(report.fullest_step(), 2u);
  EXPECT_DOUBLE_EQ(report.frames_per_s(report.device_ns), 4 / sample.plan.device_ns * 1e9);
  double shares = report.moves_ns() / report.kernels_ns;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    EXPECT_EQ(report.steps[i].ns, sample.plan.steps[i].predicted.time.ns);
    EXPECT_EQ(report.steps[i].l1_peak_bytes, sample.plan.steps[i].predicted.l1_peak_bytes);
    EXPECT_EQ(report.steps[i].pcc, sample.plan.steps[i].pcc);
    shares += report.steps[i].share;
  }
  EXPECT_NEAR(shares, 1, 1e-12);
}

TEST(PlanReport, PartsAddUpToTheTimeEndToEnd) {
  const PlanReport report = SamplePlan().report();
  double sum = 0;
  for (const PlanReport::Part& part : report.parts) sum += part.ns;
  EXPECT_NEAR(sum, report.end_to_end_ns, 1e-9 * sum);
}

TEST(PlanReport, AlternativesThatRunComeFirstAndFastestFirst) {
  const PlanReport report = SamplePlan().report();
  ASSERT_EQ(report.steps[0].alternatives.size(), 3u);
  EXPECT_EQ(report.steps[0].alternatives[0].config, "fast enough");
  EXPECT_EQ(report.steps[0].alternatives[1].config, "slower");
  EXPECT_FALSE(report.steps[0].alternatives[2].refusal.empty());
}

TEST(PlanReport, TheChosenWayIsKnownAmongTheOthers) {
  SamplePlan sample;
  tensix::PlannedStep& step = sample.plan.steps[1];
  step.alternatives = {{"another", "", 3400, 1}, {step.predicted.config, "", 9000, 1}};
  const PlanReport without = sample.report();
  for (const WeighedConfig& each : without.steps[1].alternatives) EXPECT_FALSE(each.chosen);
  step.alternatives.push_back({step.predicted.config + ", reshard of 'a' first", "", 3400, 1, true});
  const PlanReport report = sample.report();
  for (const WeighedConfig& each : report.steps[1].alternatives)
    EXPECT_EQ(each.chosen, each.config.find("first") != std::string::npos) << each.config;
}

TEST(PlanReport, AMoveKnowsWhereItsValueLayBefore) {
  const PlanReport report = SamplePlan().report();
  EXPECT_EQ(report.steps[1].moves[0].from_place, ValuePlace::height);
  EXPECT_EQ(report.steps[1].moves[0].to_place, ValuePlace::block);
  EXPECT_EQ(report.steps[2].moves[0].from_place, ValuePlace::block);
  EXPECT_EQ(report.steps[3].moves[0].from_place, ValuePlace::dram);
}

TEST(PlanReport, ShardsFillTheCoresTheyLieOn) {
  const PlanReport report = SamplePlan().report();
  // 3136 rows in shards of 64: 49 cores of the 56 that the grid has.
  const PlanReport::L1Buffer& first = report.l1.buffers[1];
  ASSERT_EQ(first.value, "a");
  EXPECT_EQ(first.place, ValuePlace::height);
  std::vector<int> wanted(64, 0);
  std::fill_n(wanted.begin(), 49, 100);
  EXPECT_EQ(percent_of(report, first.shares), wanted);
  // Blocks of 448 x 32: two columns of seven cores.
  const PlanReport::L1Buffer& moved = report.l1.buffers[2];
  EXPECT_EQ(moved.place, ValuePlace::block);
  std::fill(wanted.begin(), wanted.end(), 0);
  for (std::size_t row = 0; row < 7; ++row) wanted[row * 8] = wanted[row * 8 + 1] = 100;
  EXPECT_EQ(percent_of(report, moved.shares), wanted);
  EXPECT_TRUE(report.steps[1].working_known);
  EXPECT_EQ(percent_of(report, report.steps[1].working), wanted);
}

TEST(PlanReport, TheLastShardMayBeFilledInPart) {
  SamplePlan sample;
  sample.plan.steps[0].result.shape = Shape{1, 1, 96, 64};
  const PlanReport report = sample.report();
  const std::vector<int> percent = percent_of(report, report.l1.buffers[1].shares);
  EXPECT_EQ(percent[0], 100);
  EXPECT_EQ(percent[1], 50);
  EXPECT_EQ(percent[2], 0);
}

TEST(PlanReport, ProgramsOfMovesBelongToTheStepTheyServe) {
  const PlanReport report = SamplePlan().report();
  std::vector<std::size_t> steps;
  for (const PlanReport::L1Program& program : report.l1.programs) steps.push_back(program.step);
  EXPECT_EQ(steps, (std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(report.l1.peak, 5u);
  EXPECT_EQ(report.steps[0].fullest, 1u);
}

TEST(PlanReport, FreeSpaceIsCountedWithItsHoles) {
  const PlanReport report = SamplePlan().report();
  // Program 1: circular buffers to 2000, 'a' at 3000 to 6000, the halo from 7000 to the limit.
  EXPECT_EQ(report.l1.programs[1].free_bytes, 1000 + 1000);
  EXPECT_EQ(report.l1.programs[1].largest_free_bytes, 1000);
  // Program 3: circular buffers to 3000, then nothing up to 5000.
  EXPECT_EQ(report.l1.programs[3].free_bytes, 2000);
  EXPECT_EQ(report.l1.programs[3].largest_free_bytes, 2000);
}

TEST(PlanAdvice, SaysWhereTheTimeIsAndClaimsNoMoreThanOverlapAllows) {
  const PlanReport report = SamplePlan().report();
  ASSERT_FALSE(report.advice.empty());
  EXPECT_THAT(report.advice[0].what, StartsWith("1 of 4 layers is 55 %"));
  const PlanReport::Advice* reader = nullptr;
  double before = report.end_to_end_ns;
  for (std::size_t i = 1; i < report.advice.size(); ++i) {
    EXPECT_LE(report.advice[i].at_most_ns, before) << "the largest first";
    before = report.advice[i].at_most_ns;
    if (report.advice[i].what.find("bound by reader") != std::string::npos) reader = &report.advice[i];
  }
  ASSERT_NE(reader, nullptr);
  EXPECT_DOUBLE_EQ(reader->at_most_ns, (5000 - 2000) + (100 - 50));
  EXPECT_EQ(reader->steps, (std::vector<std::size_t>{0, 3}));
}

// The line that has these words, or an empty one.
PlanReport::Advice advice_with(const PlanReport& report, const std::string& words) {
  for (const PlanReport::Advice& line : plan_advice(report))
    if (line.what.find(words) != std::string::npos) return line;
  return {};
}

TEST(PlanAdvice, NamesProgramsThatNobodyHasMeasured) {
  PlanReport report = SamplePlan().report();
  for (PlanReport::Step& step : report.steps) step.basis = TimeBasis::fitted;
  EXPECT_EQ(advice_with(report, "nobody has measured").what, "");
  report.steps[0].basis = TimeBasis::assumed;
  EXPECT_EQ(advice_with(report, "nobody has measured").steps, std::vector<std::size_t>{0});
  EXPECT_THAT(advice_with(report, "nobody has measured").what, StartsWith("55 % of the kernels' time"));
}

TEST(PlanAdvice, NamesLayersThatLeaveCoresIdle) {
  PlanReport report = SamplePlan().report();
  const int all = report.grid_x * report.grid_y;
  for (PlanReport::Step& step : report.steps) step.cores = all;
  EXPECT_EQ(advice_with(report, "cores or more idle").what, "");
  report.steps[0].cores = all * 3 / 4;
  report.steps[1].cores = all * 3 / 4 + 1;
  const PlanReport::Advice idle = advice_with(report, "cores or more idle");
  EXPECT_EQ(idle.steps, std::vector<std::size_t>{0});
  EXPECT_DOUBLE_EQ(idle.at_most_ns, report.steps[0].ns / 4);
}

TEST(PlanAdvice, CountsTheLayersThatALineDoesNotName) {
  PlanReport report = SamplePlan().report();
  PlanReport::Step step = report.steps[1];
  step.share = 0.1;
  for (const std::size_t more : {0, 2}) {
    report.steps.assign(3 + more, step);
    for (std::size_t i = 0; i < report.steps.size(); ++i) report.steps[i].node = fmt::format("layer{}", i);
    report.kernels_ns = report.device_ns = step.ns * static_cast<double>(report.steps.size());
    const std::string line = advice_with(report, "bound by math").detail;
    EXPECT_THAT(line, HasSubstr("layer0 (10 %), layer1 (10 %), layer2 (10 %)"));
    EXPECT_EQ(line.find("layer3"), std::string::npos);
    EXPECT_EQ(line.find(" and 2 more;") != std::string::npos, more > 0) << line;
    EXPECT_EQ(line.find(" more;") != std::string::npos, more > 0) << line;
  }
}

TEST(PlanAdvice, NothingIsSaidOfAnEmptyPlan) {
  EXPECT_TRUE(plan_advice(PlanReport{}).empty());
  SamplePlan sample;
  sample.plan.steps.clear();
  sample.plan.kernels_ns = 0;
  const PlanReport report = sample.report();
  EXPECT_THAT(plan_report_text(report), HasSubstr("net"));
}

TEST(PlanReportText, AlternativesShowTheirBytesIfTheyAreKnown) {
  SamplePlan sample;
  sample.plan.steps[0].alternatives[0].l1_bytes = 0;  // refused before anything was counted
  const Table table = plan_alternative_table(sample.report(), 8);
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_EQ(table.rows()[0][4].text(), "500,000");
  EXPECT_EQ(table.rows()[1][4].text(), "700,000");
  EXPECT_EQ(table.rows()[2][4].text(), Cell().text());
}

TEST(PlanReportText, CsvHasARowForEachStepAndMove) {
  const std::string csv = plan_report_csv(SamplePlan().report());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4 + 3);
  EXPECT_THAT(csv, AllOf(HasSubstr("kernel_ns"), HasSubstr("6000"), HasSubstr("reshard")));
}

TEST(PlanReportText, TextAndMarkdownHaveTheSameContent) {
  const PlanReport report = SamplePlan("conv1").report();
  for (const std::string& text : {plan_report_text(report), plan_report_markdown(report)})
    EXPECT_THAT(text, AllOf(HasSubstr("net conv1 on"), HasSubstr("predicted"), HasSubstr("What would help next"),
                            HasSubstr("conv3"), HasSubstr("spill"), HasSubstr("1,612,032 B are beyond conv1"),
                            HasSubstr("0.998765")));
}

TEST(PlanReportText, JsonHasEverything) {
  const SamplePlan sample;
  const nlohmann::json report = nlohmann::json::parse(plan_report_json(sample.report()));
  EXPECT_EQ(report["schema"], PlanReport::kSchema);
  EXPECT_EQ(report["device_ns"], sample.plan.device_ns);
  ASSERT_EQ(report["steps"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report["steps"][i]["node"], sample.plan.steps[i].node);
    EXPECT_EQ(report["steps"][i]["kernel_ns"], sample.plan.steps[i].predicted.time.ns);
    EXPECT_EQ(report["steps"][i]["alternatives"].size(), sample.plan.steps[i].alternatives.size());
  }
  EXPECT_EQ(report["steps"][0]["busy_ns"]["reader"], 5000);
  EXPECT_EQ(report["l1"]["programs"].size(), 8u);
}

TEST(WritePlanReport, ChoosesByTheNameAndRefusesOthers) {
  const PlanReport report = SamplePlan().report();
  const std::filesystem::path folder = testing::TempDir();
  for (const auto& [file, begin] : {std::pair{"r.html", "<!DOCTYPE html>"}, std::pair{"r.md", "# net"},
                                    std::pair{"r.csv", "step,"}, std::pair{"r.json", "{"}, std::pair{"r.txt", "net"}}) {
    write_plan_report(folder / file, report);
    EXPECT_THAT(read_text_file(folder / file), StartsWith(begin)) << file;
  }
  EXPECT_THROW(write_plan_report(folder / "r.pdf", report), Error);
  EXPECT_THROW(check_plan_report_name("r.pdf"), Error);
  EXPECT_NO_THROW(check_plan_report_name("r.html"));
  EXPECT_FALSE(std::filesystem::exists(folder / "r.pdf"));
}

TEST(RehearsedPlanReport, FollowsARealPlan) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = tensix::lower(make_zoo_model("resnet18", 1), {.host_fallback = true});
  const tensix::CardPlan plan = tensix::plan_network(network, machine, {});
  const PlanReport report = rehearsed_plan_report(plan, machine, network);
  double sum = 0;
  for (const PlanReport::Part& part : report.parts) {
    EXPECT_GE(part.ns, 0) << part.name;
    sum += part.ns;
  }
  EXPECT_EQ(report.parts.size(), 6u) << "the parts are not known";
  EXPECT_NEAR(sum, plan.end_to_end_ns, 1e-6 * sum);
  ASSERT_FALSE(report.l1.programs.empty());
  double flop = 0;
  for (const PlanReport::Step& step : report.steps) {
    flop += step.flop;
    if (step.programs > 0) {
      EXPECT_NE(step.fullest, PlanReport::kNone) << step.node;
    }
    if (step.flop <= 0) continue;
    EXPECT_GT(step.dram_bytes, 0) << step.node;
    EXPECT_TRUE(step.fidelity) << step.node;
    const auto f =
        static_cast<std::size_t>(*plan.steps[static_cast<std::size_t>(&step - report.steps.data())].config.fidelity);
    EXPECT_LE(step.flop / step.ns * 1e9, report.flop_per_s[f]) << step.node << " is above its roof";
  }
  std::size_t chosen = 0, weighed = 0;
  for (const PlanReport::Step& step : report.steps) {
    weighed += !step.alternatives.empty();
    chosen += std::any_of(step.alternatives.begin(), step.alternatives.end(), [](const auto& a) { return a.chosen; });
  }
  EXPECT_GT(chosen, weighed / 2);
  EXPECT_NEAR(flop, 3.6e9, 0.3e9);  // of an image through ResNet-18
  const PlanReport::L1Program& peak = report.l1.programs[report.l1.peak];
  EXPECT_LE(peak.circular_buffer_bytes + peak.tensor_bytes, plan.l1_peak_bytes);
  for (const PlanReport::L1Program& program : report.l1.programs) {
    EXPECT_GE(program.free_bytes, program.largest_free_bytes);
    EXPECT_LE(program.free_bytes, plan.l1_limit_bytes);
  }
}

}  // namespace
}  // namespace tessera::tensix
