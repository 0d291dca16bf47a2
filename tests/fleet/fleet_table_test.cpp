#include "tessera/fleet/fleet_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace tessera::fleet {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts(const Table& table, std::size_t row = 0) {
  std::vector<std::string> out;
  for (const Cell& cell : table.rows().at(row)) out.push_back(cell.text());
  return out;
}

double number(const Table& table, std::size_t column) {
  return std::get<double>(table.rows().at(0).at(column).value());
}

FleetRow row_of(double frames_per_s) {
  return {.run = {.topology = {.chips = 2000, .chips_per_card = 2, .cards_per_host = 4},
                  .frames = 16000,
                  .interval_ns = 2.5e6,
                  .latency_ns = 3.25e6,
                  .frames_per_s = frames_per_s,
                  .efficiency = 0.875,
                  .bottleneck = "PCIe"},
          .weights = {.total_ns = 1.5e9, .over_ethernet = true}};
}

TEST(FleetTable, ShowsMillisecondsAndKeepsNumbers) {
  const Table table = fleet_table({row_of(123456.4)});
  EXPECT_THAT(texts(table), ElementsAre("1,000", "2,000", "250", "16,000", "123,456", "87.5%", "2.500", "3.250",
                                        "1500.000", "PCIe, Ethernet", "PCIe", "simulated"));
  EXPECT_DOUBLE_EQ(number(table, 5), 0.875);
  EXPECT_DOUBLE_EQ(number(table, 6), 2.5);
}

TEST(FleetTable, RatesBelowAHundredHaveADecimal) {
  EXPECT_EQ(texts(fleet_table({row_of(99.94)}))[4], "99.9");
  EXPECT_EQ(texts(fleet_table({row_of(100)}))[4], "100");
  EXPECT_EQ(texts(fleet_table({row_of(0.25)}))[4], "0.2");
}

TEST(ServingTable, TellsWhichLoadsCannotBeServed) {
  ServingRow served{.cards = 8, .load = 0.5, .options = {.requests_per_s = 50}, .result = {}};
  served.result = ServingResult{.p50_ns = 1e6,
                                .p95_ns = 2e6,
                                .p99_ns = 3e6,
                                .p999_ns = 4e6,
                                .mean_queue = 1.25,
                                .max_queue = 7,
                                .utilization = 0.5,
                                .mean_batch = 2};
  EXPECT_THAT(texts(serving_table({served})), ElementsAre("8", "50.0%", "50.0", "1.000", "2.000", "3.000", "4.000",
                                                          "1.2", "7", "50.0%", "2.0", "chips", "simulated"));
  served.result.reset();
  served.network = true;
  EXPECT_THAT(texts(serving_table({served})),
              ElementsAre("8", "50.0%", "50.0", "", "", "", "", "", "", "", "", "network", "cannot keep up"));
}

TEST(FailureTable, HasTheColumnsThatWereSimulated) {
  FailureRow row{.share = {.cards = 100,
                           .spares = 2,
                           .failures_per_day = 0.125,
                           .full_share = 0.99995,
                           .mean_share = 0.999996,
                           .cards_999 = 99},
                 .load = 0.8};
  EXPECT_THAT(texts(failure_table({row}, false, false)),
              ElementsAre("100", "2", "0.125", "99.995%", "99.9996%", "99", "simulated"));
  row.p999_all_ns = 2e6;
  EXPECT_THAT(texts(failure_table({row}, true, true)),
              ElementsAre("100", "2", "0.125", "99.995%", "99.9996%", "99", "80.0%", "2.000", "cannot keep up", "", "",
                          "", "simulated"));
  row.p999_few_ns = 5e6;
  row.failing = ServingResult{.p999_ns = 7e6, .restarted = 12, .failures = 3};
  EXPECT_THAT(texts(failure_table({row}, false, true)),
              ElementsAre("100", "2", "0.125", "99.995%", "99.9996%", "99", "7.000", "3", "12", "simulated"));
}

TEST(FleetPicture, IsOverCardsOrOverLoads) {
  FleetRow one = row_of(100), two = row_of(150);
  one.run.topology.chips = 2;
  two.run.topology.chips = 4;
  ServingRow half{.cards = 1, .load = 0.5, .options = {}, .result = {}};
  const ServingRow most{.cards = 1, .load = 0.9, .options = {}, .result = {}};
  half.result = ServingResult{.p50_ns = 1e6, .p95_ns = 2e6, .p99_ns = 3e6, .p999_ns = 4e6, .mean_batch = 2};
  const ScalingPicture cards =
      fleet_picture({.rows = {one, two}, .served = {half, most, half, most}, .failures = {}}, "t");
  EXPECT_THAT(cards.x, ElementsAre(1, 2));
  ASSERT_EQ(cards.panels.size(), 4u);
  EXPECT_THAT(cards.panels[0].series[0].values, ElementsAre(100, 150));
  EXPECT_DOUBLE_EQ(cards.panels[0].series[1].values[0], 100 / 0.875);
  EXPECT_THAT(cards.panels[1].series[0].values, ElementsAre(87.5, 87.5));
  EXPECT_THAT(cards.panels[2].series[2].values, ElementsAre(4, 4));

  const ScalingPicture loads = fleet_picture({.rows = {one}, .served = {half, most}, .failures = {}}, "t");
  EXPECT_THAT(loads.x, ElementsAre(0.5, 0.9));
  ASSERT_EQ(loads.panels.size(), 2u);
  EXPECT_DOUBLE_EQ(loads.panels[0].series[3].values[0], 4);
  EXPECT_TRUE(loads.panels[0].series[0].values[1] != loads.panels[0].series[0].values[1]) << "a gap";
  EXPECT_DOUBLE_EQ(loads.panels[1].series[0].values[0], 2);
}

}  // namespace
}  // namespace tessera::fleet
