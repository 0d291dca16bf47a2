#include "tessera/report/timeline_events.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(TimelineEvents, HasARowForEveryServerInTheOrderOfResources) {
  sim::Timeline t;
  const sim::ResourceId queue = t.add_resource("queue"), banks = t.add_resource("bank", 2);
  const sim::TaskId a = t.add_task(banks, 2000, "read"), b = t.add_task(banks, 1000, "read"),
                    c = t.add_task(queue, 500, "send"), gone = t.add_task(sim::ResourceId::none, 10, "latency");
  t.after(c, a);
  t.after(b, gone);
  const std::vector<TraceEvent> events = timeline_events(t, simulate(t));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].lane, "queue");
  EXPECT_EQ(events[0].name, "send");
  EXPECT_EQ(events[0].begin_us, 2);
  EXPECT_EQ(events[0].duration_us, 0.5);
  EXPECT_EQ(events[0].category, "critical");
  EXPECT_EQ(events[0].details.at("started after"), "read");
  EXPECT_EQ(events[1].lane, "bank 0");
  EXPECT_EQ(events[2].lane, "bank 1");
  EXPECT_EQ(events[2].category, "task");
  EXPECT_EQ(events[2].details.at("waited for"), "dependency");
}

TEST(TimelineEvents, BecomeTheJsonThatPerfettoOpens) {
  sim::Timeline t;
  t.add_task(t.add_resource("host"), 1500, "dispatch \"conv\"");
  const auto json = nlohmann::json::parse(trace_event_json("net", "simulated", timeline_events(t, simulate(t))));
  EXPECT_EQ(json["otherData"]["times"], "simulated");
  const auto& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1]["args"]["name"], "host");
  EXPECT_EQ(events[2]["name"], "dispatch \"conv\"");
  EXPECT_EQ(events[2]["ph"], "X");
  EXPECT_EQ(events[2]["tid"], events[1]["tid"]);
  EXPECT_EQ(events[2]["dur"], 1.5);
}

}  // namespace
}  // namespace tessera
