#include "tessera/targets/tensix/views/plan_page.h"

#include "plan_fixture.h"
#include "tests/report/markup_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera::tensix {
namespace {

using testing::HasSubstr;

constexpr const char* kHostile = "</script><script>alert(1)</script><b>&\"'\x01\xFF";

Markup read_page(const std::string& html) { return read_markup(html, true); }

std::size_t elements(const Markup& page, std::string_view tag) {
  std::size_t count = 0;
  for (const MarkupElement& element : page.elements) count += element.tag == tag;
  return count;
}

std::size_t with_class(const Markup& page, std::string_view name) {
  std::size_t count = 0;
  for (const MarkupElement& element : page.elements) {
    const auto found = element.attributes.find("class");
    count += found != element.attributes.end() && found->second == name;
  }
  return count;
}

TEST(PlanPage, IsWellFormedWithARowForEachStep) {
  const SamplePlan sample;
  const Markup page = read_page(plan_page(sample.report()));
  ASSERT_EQ(page.problem, "");
  std::vector<std::string> times;
  for (std::size_t i = 0; i < page.elements.size(); ++i) {
    const MarkupElement& element = page.elements[i];
    if (element.tag == "tr" && element.attributes.contains("data-step")) times.emplace_back();
    const auto value = element.attributes.find("data-v");
    if (value != element.attributes.end() && !times.empty()) times.back() += value->second + ";";
  }
  ASSERT_EQ(times.size(), sample.plan.steps.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double ns = sample.plan.steps[i].predicted.time.ns;
    EXPECT_THAT(times[i], HasSubstr(fmt::format("{};{};{};", i + 1, ns, ns / sample.plan.kernels_ns)));
    EXPECT_THAT(times[i], HasSubstr(fmt::format("{};", sample.plan.steps[i].predicted.l1_peak_bytes)));
  }
}

TEST(PlanPage, TheScriptGetsTheReport) {
  const PlanReport report = SamplePlan().report();
  const Markup page = read_page(plan_page(report));
  nlohmann::json data;
  for (const MarkupElement& element : page.elements)
    if (element.tag == "script" && element.attributes.contains("id")) data = nlohmann::json::parse(element.text);
  nlohmann::json wanted = nlohmann::json::parse(plan_report_json(report));
  for (auto& step : wanted["steps"]) step.erase("alternatives");
  EXPECT_EQ(data, wanted);
}

TEST(PlanPage, HostileNamesStayText) {
  SamplePlan sample(kHostile);
  sample.machine.title = kHostile;
  sample.plan.steps[0].op = sample.timeline.steps[1].op = kHostile;
  sample.plan.steps[0].predicted.config = kHostile;
  sample.plan.steps[0].predicted.note = kHostile;
  sample.plan.network_digest = kHostile;
  sample.plan.steps[0].why = kHostile;
  const std::string html = plan_page(sample.report());
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("</script><script>alert"), std::string::npos);
  const Markup page = read_page(html);
  ASSERT_EQ(page.problem, "");
  EXPECT_EQ(elements(page, "script"), 2u);
}

TEST(PlanPage, EqualReportsAreEqualBytes) {
  EXPECT_EQ(plan_page(SamplePlan().report()), plan_page(SamplePlan().report()));
}

TEST(PlanPage, NeedsNothingFromElsewhere) {
  const std::string html = plan_page(SamplePlan().report());
  for (const MarkupElement& element : read_page(html).elements) {
    EXPECT_FALSE(element.attributes.contains("src"));
    EXPECT_NE(element.tag, "link");
    EXPECT_NE(element.tag, "iframe");
    const auto href = element.attributes.find("href");
    EXPECT_TRUE(href == element.attributes.end() || href->second.starts_with('#')) << href->second;
  }
  EXPECT_EQ(html.find("@import"), std::string::npos);
  EXPECT_EQ(html.find("url("), std::string::npos);
}

TEST(PlanPage, LinesOfTheGraphSayWhereValuesLie) {
  const Markup page = read_page(plan_page(SamplePlan().report()));
  EXPECT_EQ(with_class(page, "node p-H") + with_class(page, "node p-B"), 4u);
  EXPECT_EQ(with_class(page, "input"), 1u);
  EXPECT_EQ(with_class(page, "move p-B"), 2u);  // a reshard and a restore
  EXPECT_EQ(with_class(page, "move p-D"), 1u);
  // DRAM: the input down and into its reader, and 'a' between its spill and its restore.
  EXPECT_EQ(with_class(page, "e e-D"), 3u);
}

TEST(PlanPage, EveryBufferOfL1IsDrawnToScale) {
  const SamplePlan sample;
  const Markup page = read_page(plan_page(sample.report()));
  std::map<std::string, int> bytes;
  for (const MarkupElement& element : page.elements) {
    const auto found = element.attributes.find("data-bytes");
    if (found != element.attributes.end()) ++bytes[found->second];
  }
  EXPECT_EQ(bytes["3000"], 3);
  EXPECT_EQ(bytes["4000"], 1);
  EXPECT_EQ(bytes["100"], 2);  // of L1_SMALL, and a program's circular buffers
  EXPECT_EQ(bytes["3900"], 1);
}

TEST(PlanPage, APlanThatWasNotRunOrIsEmptyIsAPageToo) {
  SamplePlan sample;
  EXPECT_EQ(read_page(plan_page(plan_report({sample.plan, sample.machine}))).problem, "");
  sample.plan.steps.clear();
  sample.plan.kernels_ns = sample.plan.device_ns = sample.plan.end_to_end_ns = 0;
  EXPECT_EQ(read_page(plan_page(plan_report({sample.plan, sample.machine}))).problem, "");
}

TEST(PlanPage, LargeNetworksStaySmall) {
  SamplePlan sample;
  const tensix::PlannedStep one = sample.plan.steps[0];
  sample.plan.steps.clear();
  for (int i = 0; i < 250; ++i) {
    tensix::PlannedStep step = one;
    step.node = fmt::format("stage{}.block{}.conv", i / 20, i % 20);
    step.reads = {i == 0 ? "x" : fmt::format("v{}", i - 1)};
    if (i > 4) step.reads.push_back(fmt::format("v{}", i - 4));
    step.makes = fmt::format("v{}", i);
    for (int a = 0; a < 60; ++a)
      step.alternatives.push_back({fmt::format("BLOCK_SHARDED 416x128, act_block_h {}", 32 * a),
                                   a % 2 == 0 ? "" : std::string(120, 'r'), 1000.0 * a, 1000});
    sample.plan.steps.push_back(step);
  }
  const std::string html = plan_page(plan_report({sample.plan, sample.machine}));
  EXPECT_EQ(read_page(html).problem, "");
  EXPECT_LT(html.size(), 2u << 20);
}

}  // namespace
}  // namespace tessera::tensix
