#include "tessera/timeline/timeline.h"

#include "tessera/core/error.h"
#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace tessera::sim {
namespace {

using tessera::for_tests::error_of;

TEST(Timeline, RunsATaskAfterThoseItWaitsFor) {
  Timeline t;
  const ResourceId a = t.add_resource("a"), b = t.add_resource("b");
  const TaskId first = t.add_task(a, 100, "first"), second = t.add_task(b, 30, "second"),
               third = t.add_task(b, 5, "third");
  t.after(third, first);
  t.after(third, second);
  const Schedule s = simulate(t);
  EXPECT_EQ(s.start_ns(second), 0);
  EXPECT_EQ(s.start_ns(third), 100);
  EXPECT_EQ(s.end_ns(), 105);
  EXPECT_EQ(s.tasks[index(third)].wait, Wait::dependency);
  EXPECT_EQ(critical_path(s), (std::vector{first, third}));
  EXPECT_EQ(critical_time_ps(t, s), (std::vector<std::int64_t>{100'000, 5'000, 0}));
  EXPECT_EQ(s.resources[index(b)].busy_ps, 35'000);
}

TEST(Timeline, ServesInOrderOfReadinessAndThenOfAddition) {
  Timeline t;
  const ResourceId early = t.add_resource("early"), shared = t.add_resource("shared");
  const TaskId x = t.add_task(shared, 10, "x");
  const TaskId late = t.add_task(shared, 10, "late"), soon = t.add_task(shared, 10, "soon"),
               same = t.add_task(shared, 10, "same");
  const TaskId gate7 = t.add_task(early, 7, "gate"), gate5 = t.add_task(ResourceId::none, 5, "gate");
  t.after(late, gate7);
  t.after(soon, gate5);
  t.after(same, gate5);
  const Schedule s = simulate(t);
  EXPECT_EQ(s.start_ns(x), 0);
  EXPECT_EQ(s.start_ns(soon), 10);
  EXPECT_EQ(s.start_ns(same), 20);
  EXPECT_EQ(s.start_ns(late), 30);
  EXPECT_EQ(s.tasks[index(late)].wait, Wait::resource);
  EXPECT_EQ(s.tasks[index(late)].because, same);
}

TEST(Timeline, TheOldestOfThoseThatAreReadyGoesFirst) {
  Timeline t;
  const ResourceId shared = t.add_resource("shared", 1, Order::oldest);
  const TaskId blocked = t.add_task(shared, 10, "blocked"), late = t.add_task(shared, 10, "late"),
               first = t.add_task(shared, 10, "first"), soon = t.add_task(shared, 10, "soon");
  const TaskId gate7 = t.add_task(ResourceId::none, 7, "gate"), gate5 = t.add_task(ResourceId::none, 5, "gate"),
               gate15 = t.add_task(ResourceId::none, 15, "gate");
  t.after(late, gate7);
  t.after(soon, gate5);
  t.after(blocked, gate15);
  const Schedule s = simulate(t);
  EXPECT_EQ(s.start_ns(first), 0);  // nobody older is ready
  EXPECT_EQ(s.start_ns(late), 10);  // ready after `soon`, but older
  EXPECT_EQ(s.start_ns(blocked), 20);
  EXPECT_EQ(s.start_ns(soon), 30);
  EXPECT_EQ(s.tasks[index(soon)].because, blocked);
}

TEST(Timeline, ProgramOrderHoldsUpThoseBehind) {
  Timeline t;
  const ResourceId queue = t.add_resource("queue", 1, Order::program);
  const TaskId first = t.add_task(queue, 10, "first"), second = t.add_task(queue, 10, "second");
  const TaskId gate = t.add_task(ResourceId::none, 50, "gate");
  t.after(first, gate);
  const Schedule s = simulate(t);
  EXPECT_EQ(s.start_ns(first), 50);
  EXPECT_EQ(s.start_ns(second), 60);
  EXPECT_EQ(s.resources[index(queue)].busy_ps, 20'000);
}

TEST(Timeline, SeveralServersRunAtATimeLowestNumberFirst) {
  Timeline t;
  const ResourceId banks = t.add_resource("banks", 2);
  std::vector<TaskId> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(t.add_task(banks, i == 0 ? 30 : 10, "read"));
  const Schedule s = simulate(t);
  EXPECT_EQ(s.end_ns(), 40);
  EXPECT_EQ(s.tasks[0].server, 0);
  EXPECT_EQ(s.tasks[1].server, 1);
  EXPECT_EQ(s.tasks[2].server, 1);
  EXPECT_EQ(s.tasks[4].start_ps, 30'000);  // after the first and the fourth, which end together
  EXPECT_EQ(s.tasks[4].server, 0);
}

// Reader and math with a buffer of n slots between: the textbook recurrence of a bounded pipeline.
double pipeline_ns(int blocks, int slots, const std::vector<double>& read, const std::vector<double>& math,
                   Order order) {
  Timeline t;
  const ResourceId reader = t.add_resource("reader", 1, order), unit = t.add_resource("math", 1, order);
  const BufferId cb = t.add_buffer("cb", slots);
  for (int i = 0; i < blocks; ++i) {
    const TaskId r = t.add_task(reader, read[static_cast<std::size_t>(i)], "read");
    const TaskId m = t.add_task(unit, math[static_cast<std::size_t>(i)], "math");
    t.acquire(r, cb);
    t.after(m, r);
    t.release(m, cb);
  }
  return simulate(t).end_ns();
}

TEST(Timeline, ABoundedBufferMakesTheProducerWait) {
  EXPECT_EQ(pipeline_ns(3, 1, {10, 10, 10}, {10, 10, 10}, Order::ready), 60);
  EXPECT_EQ(pipeline_ns(3, 2, {10, 10, 10}, {10, 10, 10}, Order::ready), 40);
}

TEST(Timeline, AgreesWithTheRecurrenceOfABoundedPipelineOnRandomTimes) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> ns(0, 50), depth(1, 5), count(1, 60);
  for (int round = 0; round < 200; ++round) {
    const int blocks = count(random), slots = depth(random);
    std::vector<double> read, math, read_start, math_end;
    for (int i = 0; i < blocks; ++i) {
      read.push_back(ns(random));
      math.push_back(ns(random));
    }
    double reader_free = 0, math_free = 0;
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto back = static_cast<std::size_t>(slots);
      const double start = std::max(reader_free, i >= back ? math_end[i - back] : 0);
      reader_free = start + read[i];
      math_free = std::max(math_free, reader_free) + math[i];
      math_end.push_back(math_free);
    }
    for (const Order order : {Order::ready, Order::program})
      ASSERT_EQ(pipeline_ns(blocks, slots, read, math, order), math_free) << "round " << round;
  }
}

TEST(Timeline, SlotsAreGrantedInOrderEvenIfALaterTaskWouldFit) {
  Timeline t;
  const BufferId buffer = t.add_buffer("buffer", 3);
  const TaskId holder = t.add_task(ResourceId::none, 10, "holder"), wide = t.add_task(ResourceId::none, 5, "wide"),
               narrow = t.add_task(ResourceId::none, 5, "narrow");
  t.acquire(holder, buffer, 2);
  t.release(holder, buffer, 2);
  t.acquire(wide, buffer, 3);
  t.release(wide, buffer, 3);
  t.acquire(narrow, buffer, 1);
  const Schedule s = simulate(t);
  EXPECT_EQ(s.start_ns(wide), 10);
  EXPECT_EQ(s.start_ns(narrow), 15);
  EXPECT_EQ(s.tasks[index(wide)].wait, Wait::buffer);
  EXPECT_EQ(s.tasks[index(wide)].because, holder);
}

TEST(Timeline, TasksMayArriveLater) {
  Timeline t;
  const ResourceId r = t.add_resource("r");
  const TaskId task = t.add_task(r, 1, "frame");
  t.not_before(task, 40);
  t.not_before(task, 16.5);
  const Schedule s = simulate(t);
  EXPECT_EQ(s.start_ns(task), 40);
  EXPECT_EQ(s.tasks[index(task)].wait, Wait::arrival);
  EXPECT_EQ(critical_time_ps(t, s), (std::vector<std::int64_t>{1'000, 40'000}));
}

TEST(Timeline, TheCriticalPathHasNoGapsAndEndsAtTheEnd) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> ns(0, 20), pick(0, 3);
  for (int round = 0; round < 50; ++round) {
    Timeline t;
    std::vector<ResourceId> resources;
    for (int i = 0; i < 4; ++i)
      resources.push_back(t.add_resource("r", 1 + i % 2, i < 2 ? Order::ready : Order::program));
    const BufferId buffer = t.add_buffer("b", 3);
    std::vector<TaskId> tasks;
    for (int i = 0; i < 200; ++i) {
      tasks.push_back(t.add_task(resources[static_cast<std::size_t>(pick(random))], ns(random), "t"));
      for (int d = 0; d < 2 && i > 0; ++d)
        t.after(tasks.back(), tasks[std::uniform_int_distribution<std::size_t>(0, tasks.size() - 2)(random)]);
      if (i % 5 == 0) {
        t.acquire(tasks.back(), buffer);
        t.release(tasks.back(), buffer);
      }
    }
    const Schedule s = simulate(t);
    std::int64_t at = 0;
    for (const TaskId id : critical_path(s)) {
      ASSERT_EQ(s.tasks[index(id)].start_ps, at) << "round " << round;
      at = s.tasks[index(id)].end_ps;
    }
    ASSERT_EQ(at, s.end_ps);
    for (const Timeline::Dependency& d : t.dependencies())
      ASSERT_GE(s.tasks[index(d.task)].start_ps, s.tasks[index(d.earlier)].end_ps);
  }
}

TEST(Timeline, GivesTheSameScheduleAgain) {
  const auto build = [] {
    Timeline t;
    const ResourceId r = t.add_resource("r", 3);
    for (int i = 0; i < 100; ++i) t.add_task(r, 10 + i % 7, "t");
    return t;
  };
  const Schedule a = simulate(build()), b = simulate(build());
  for (std::size_t i = 0; i < a.tasks.size(); ++i) {
    EXPECT_EQ(a.tasks[i].start_ps, b.tasks[i].start_ps);
    EXPECT_EQ(a.tasks[i].server, b.tasks[i].server);
  }
}

TEST(Timeline, NamesTasksThatWaitForEachOther) {
  Timeline t;
  const TaskId a = t.add_task(ResourceId::none, 1, "a"), b = t.add_task(ResourceId::none, 1, "b"),
               c = t.add_task(ResourceId::none, 1, "behind them");
  t.after(a, b);
  t.after(b, a);
  t.after(c, b);
  t.add_task(ResourceId::none, 1, "free");
  EXPECT_EQ(error_of([&] { simulate(t); }).substr(0, 90),
            "deadlock: 3 of 4 tasks never start. 'a' (task 0) waits for 'b' (task 1); 'b' (task 1) wait");
}

TEST(Timeline, NamesThePlaceInAQueueAndTheBufferOfADeadlock) {
  Timeline t;
  const ResourceId queue = t.add_resource("queue 0", 1, Order::program);
  const BufferId slot = t.add_buffer("slot", 1);
  const TaskId fill = t.add_task(ResourceId::none, 1, "fill"), again = t.add_task(queue, 1, "fill again"),
               drain = t.add_task(queue, 1, "drain");
  t.acquire(fill, slot);
  t.acquire(again, slot);
  t.release(drain, slot);
  t.after(drain, fill);
  const std::string message = error_of([&] { simulate(t); });
  EXPECT_NE(message.find("'fill again' (task 1) waits for slots of buffer 'slot' (0 of 1 free), which 'drain' (task 2) "
                         "gives back"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("'drain' (task 2) is behind 'fill again' (task 1) on 'queue 0'"), std::string::npos)
      << message;
}

TEST(Timeline, SaysThatNobodyGivesASlotBack) {
  Timeline t;
  const BufferId slot = t.add_buffer("slot", 1);
  for (const char* label : {"one", "two"}) t.acquire(t.add_task(ResourceId::none, 1, label), slot);
  const std::string message = error_of([&] { simulate(t); });
  EXPECT_NE(
      message.find("'two' (task 1) waits for slots of buffer 'slot' (0 of 1 free), which no task that is left gives "
                   "back"),
      std::string::npos)
      << message;
}

TEST(Timeline, RefusesWhatMakesNoSense) {
  Timeline t;
  const ResourceId r = t.add_resource("r");
  const BufferId b = t.add_buffer("b", 2);
  const TaskId task = t.add_task(r, 1, "t");
  EXPECT_NE(error_of([&] { t.add_task(r, -1, "x"); }).find("duration of 'x' is -1 ns"), std::string::npos);
  EXPECT_NE(error_of([&] { t.add_task(r, std::nan(""), "x"); }).find("is nan ns"), std::string::npos);
  EXPECT_NE(error_of([&] { t.acquire(task, b, 3); }).find("acquires 3 slots of buffer 'b', which has 2"),
            std::string::npos);
  EXPECT_NE(error_of([&] { t.add_buffer("none", 0); }).find("0 slots"), std::string::npos);
  EXPECT_NE(error_of([&] { t.add_resource("none", 0); }).find("0 servers"), std::string::npos);
  EXPECT_NE(error_of([&] { t.after(task, TaskId::none); }).find("there are 1"), std::string::npos);
  t.release(task, b);
  EXPECT_NE(error_of([&] { simulate(t); }).find("then has 3 free of 2"), std::string::npos);
}

TEST(Timeline, AnEmptyOneEndsAtOnce) {
  const Schedule s = simulate(Timeline());
  EXPECT_EQ(s.end_ps, 0);
  EXPECT_TRUE(critical_path(s).empty());
}

}  // namespace
}  // namespace tessera::sim
