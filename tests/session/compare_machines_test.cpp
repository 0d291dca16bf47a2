#include "tessera/session/compare_machines.h"

#include "tessera/core/error.h"
#include "tessera/report/machine_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LoadedNetwork small_network() {
  LoadedNetwork network{.model = "small", .name = "small", .graph = {}};
  Graph& graph = network.graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{2, 32, 16, 16}));
  Array weights(ElementType::float32, Shape{32, 32, 3, 3});
  for (float& value : weights.as<float>()) value = 0.01f;
  const ValueId y = graph.add("conv", Conv{.window = {.pads = {1, 1, 1, 1}}}, {x, graph.add_constant("w", weights)});
  graph.outputs = {graph.add("relu", Unary{Unary::Kind::relu}, {y})};
  network.inputs.emplace_back(ElementType::float32, Shape{2, 32, 16, 16});
  return network;
}

std::map<std::string, MachineRow> by_machine(const std::vector<MachineRow>& rows) {
  std::map<std::string, MachineRow> out;
  for (const MachineRow& row : rows) out.insert({row.machine, row});
  return out;
}

TEST(CompareMachines, GivesARowForEachMachine) {
  const std::vector<std::string> machines{"cpu", "cpu_avx2", "wormhole_n150", "apple_m1", "trainium2"};
  const auto rows = compare_machines(small_network, machines, {.budget_s = 5, .prices = {{"wormhole_n150", 0.5}}});
  ASSERT_EQ(rows.size(), machines.size());
  EXPECT_EQ(rows.back().machine, "trainium2");
  EXPECT_THAT(rows.back().refusal, HasSubstr("not planned for 'trainium2'"));
  auto row = by_machine(rows);
  EXPECT_EQ(row["cpu"].basis, "measured");
  EXPECT_EQ(row["wormhole_n150"].frames, 2);
  EXPECT_GT(*row["wormhole_n150"].end_to_end_s, row["wormhole_n150"].device_s);
  EXPECT_EQ(row["apple_m1"].memory_limit_bytes, 8'589'934'592);
  for (std::size_t i = 0; i + 2 < rows.size(); ++i) EXPECT_GE(rows[i].frames_per_s(), rows[i + 1].frames_per_s());
  // An hour of 0.5 for so many frames a second.
  EXPECT_DOUBLE_EQ(*row["wormhole_n150"].price_per_million(), 0.5 / 3600 / row["wormhole_n150"].frames_per_s() * 1e6);
  EXPECT_FALSE(row["cpu"].price_per_million().has_value());
}

TEST(CompareMachines, TakesEveryMachineButFleets) {
  const std::vector<std::string> machines = comparable_machines();
  EXPECT_EQ(machines.front(), "cpu");
  EXPECT_THAT(machines, AllOf(Contains("wormhole_n300"), Contains("trainium1"), Contains("nvidia_h200")));
  EXPECT_THAT(machines, Each(Not(StartsWith("fleet"))));
}

TEST(CompareMachines, RefusesMachinesAndPricesThatThereAreNot) {
  const auto told = [](const std::vector<std::string>& machines, const std::map<std::string, double>& prices) {
    int loads = 0;
    std::string text;
    try {
      compare_machines(
          [&] {
            ++loads;
            return small_network();
          },
          machines, {.prices = prices});
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_EQ(loads, 0);
    return text;
  };
  EXPECT_THAT(told({"cpu", "wormhole_n151"}, {}), HasSubstr("wormhole_n151"));
  EXPECT_THAT(told({"cpu"}, {{"apple_m1", 1}}), HasSubstr("'apple_m1', which is not compared"));
  EXPECT_THAT(told({}, {}), HasSubstr("no machine"));
}

TEST(CompareMachines, EndsWhenItIsTold) {
  int asked = 0;
  const auto rows = compare_machines(small_network, std::vector<std::string>{"cpu_avx2", "apple_m1", "apple_m1_max"},
                                     {.stop = [&] { return ++asked > 2; }});
  EXPECT_LT(rows.size(), 3u);
}

MachineRow row(const char* machine, double device_s, const char* basis) {
  return {.machine = machine, .title = "A & B", .frames = 4, .device_s = device_s, .bound = "math", .basis = basis};
}

TEST(MachineTable, LeavesCellsOfRefusalsEmpty) {
  const std::vector<MachineRow> rows{row("fast", 0.001, "fitted"),
                                     {.machine = "none", .title = "", .refusal = "too small"}};
  const Table table = machine_table(rows);
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0][3].text(), "4000");
  EXPECT_TRUE(table.rows()[1][3].empty());
  EXPECT_EQ(table.rows()[1].back().text(), "too small");
}

TEST(MachinePage, DrawsWhatTimesRestOn) {
  const std::vector<MachineRow> rows{row("a", 0.001, "measured"),
                                     row("b", 0.01, "fitted"),
                                     row("c", 0.1, "scaled"),
                                     row("d", 1, "assumed"),
                                     {.machine = "<e>", .title = "", .refusal = "a < b"}};
  const std::string page = machine_page("net", rows);
  // Five decades from 0.1, one below the slowest: log10(4000 / 0.1) / 5 is 92 %, and each tenth of that 20 % less.
  for (const char* part : {"<i class=\"measured\" style=\"width:92.0%\">", "<i class=\"fitted\" style=\"width:72.0%\">",
                           "<i class=\"scaled\" style=\"width:52.0%\">", "<i class=\"guessed\" style=\"width:32.0%\">",
                           "&lt;e&gt;", "a &lt; b", "A &amp; B", "From 0.1 to 10000 frames"})
    EXPECT_THAT(page, HasSubstr(part));
}

}  // namespace
}  // namespace tessera
