// What parallel_for's threads do when several callers come, when nobody does, and in a process that was forked.

#include "tessera/core/parallel_for.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class ThreadTeam : public ::testing::Test {
 protected:
  void SetUp() override { set_max_threads(4); }
  void TearDown() override { set_max_threads(0); }
};

std::int64_t sum_to(std::int64_t n) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_F(ThreadTeam, ServesCallersFromSeveralThreads) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        if (sum_to(100 + i) != (100 + i) * (99 + i) / 2) ++wrong;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadTeam, UsesNoCpuWhileItWaits) {
  sum_to(1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.1);  // three helpers that spin would take 0.3 and more
}

#if !defined(__SANITIZE_THREAD__)
TEST_F(ThreadTeam, AForkedProcessWorksWithoutTheThreadsItLost) {
  sum_to(1000);
  const pid_t child = fork();
  if (child == 0) _exit(sum_to(1000) == 499500 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

#if defined(__linux__)
TEST_F(ThreadTeam, HelpersStayOffTheCpuOfTheirCaller) {
  set_max_threads(2);
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is one CPU only";
  sum_to(10);  // starts the helper where all CPUs are allowed
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> together{0};
    for (int i = 0; i < 20; ++i)
      parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
        cpu_set_t mine;
        if (std::this_thread::get_id() != caller && sched_getaffinity(0, sizeof(mine), &mine) == 0)
          together += CPU_ISSET(static_cast<std::size_t>(cpu), &mine) ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(100));  // so that the helper gets its part
      });
    EXPECT_EQ(together, 0) << "on CPU " << cpu;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(ThreadTeam, AsManyHelpersAsCpusMayUseAllOfThem) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  const int cpus = CPU_COUNT(&all);
  const std::thread::id caller = std::this_thread::get_id();
  for (const int helpers : {1, cpus}) {  // one is kept off the CPU of its caller before
    set_max_threads(helpers + 1);
    std::atomic<int> fewer{0};
    for (int i = 0; i < 20; ++i)
      parallel_for(helpers + 1, 1, [&](std::int64_t, std::int64_t) {
        cpu_set_t mine;
        if (std::this_thread::get_id() != caller && sched_getaffinity(0, sizeof(mine), &mine) == 0)
          fewer += CPU_EQUAL(&mine, &all) ? 0 : 1;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      });
    if (helpers == cpus) {
      EXPECT_EQ(fewer, 0);
    }
  }
}
#endif

TEST_F(ThreadTeam, ALimitHoldsForTheThreadThatSetIt) {
  const ThreadLimit limit(1);
  EXPECT_EQ(max_threads(), 1);
  std::thread([] { EXPECT_EQ(max_threads(), 4); }).join();
  {
    const ThreadLimit unchanged(0);
    EXPECT_EQ(max_threads(), 1);
    const ThreadLimit inner(2);
    EXPECT_EQ(max_threads(), 2);
  }
  EXPECT_EQ(max_threads(), 1);
}

}  // namespace
}  // namespace tessera
