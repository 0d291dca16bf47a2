#include "tessera/targets/cpu/kernels/phases.h"

#include "tessera/core/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tessera::cpu {
namespace {

// Each part of a phase reads what all parts of the phase before have left.
void expect_in_order(std::int64_t phases, int parts, int slow_part = -1) {
  std::vector<std::int64_t> done(static_cast<std::size_t>(parts), 0), next = done;
  std::atomic<int> faults = 0, calls = 0;
  run_phases(phases, parts, [&](std::int64_t phase, int part) {
    const std::vector<std::int64_t>& from = phase % 2 == 0 ? done : next;
    std::vector<std::int64_t>& to = phase % 2 == 0 ? next : done;
    for (const std::int64_t value : from) faults += value != phase;
    if (part == slow_part && phase % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    to[static_cast<std::size_t>(part)] = phase + 1;
    ++calls;
  });
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(calls, phases * parts);
}

TEST(Phases, RunEveryPartOnceAndOneAfterTheOther) {
  for (const int parts : {1, 2, 3, 7}) expect_in_order(1000, parts);
  expect_in_order(0, 2);
}

TEST(Phases, WaitForAPartThatTakesLong) { expect_in_order(200, 2, 1); }

TEST(Phases, GoOnWhereTheOtherThreadsDoNotCome) {
  // Inside another region everything runs on the thread that is there.
  parallel_for(4, 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) expect_in_order(100, 3);
  });
  const ThreadLimit one(1);
  expect_in_order(100, 3);
}

TEST(Phases, OfSeveralThreadsAtOnceDoNotMix) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { expect_in_order(300, 2); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera::cpu
