#include "tessera/core/machine_load.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tessera {
namespace {

TEST(MachineLoad, ReadsTheFirstLineOfProcStat) {
  const auto times = parse_cpu_times("cpu  100 20 30 4000 50 6 7 80 90 0\ncpu0 1 2 3 4\n", 10);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->busy, (100 + 20 + 30 + 6 + 7) / 10.0);
  EXPECT_DOUBLE_EQ(times->stolen, 8);
}

TEST(MachineLoad, OldKernelsCountLess) {
  const auto times = parse_cpu_times("cpu 1 2 3 4\n", 1);
  ASSERT_TRUE(times.has_value());
  EXPECT_DOUBLE_EQ(times->busy, 6);
  EXPECT_DOUBLE_EQ(times->stolen, 0);
}

TEST(MachineLoad, WhatIsNoSuchLineIsNothing) {
  for (const char* text : {"", "cpu", "cpu0 1 2 3 4", "cpu 1 2 3", "cpu 1 2 x 4", "intr 5 6 7 8"})
    EXPECT_FALSE(parse_cpu_times(text, 100).has_value()) << text;
}

TEST(LoadWatch, WhatThisProcessDoesIsNotTheWorkOfOthers) {
  const LoadWatch watch;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  volatile double sum = 0;
  while (std::chrono::steady_clock::now() < end) sum = sum + 1;
  const auto load = watch.load();
  ASSERT_TRUE(load.has_value());
  EXPECT_GE(load->others, 0);
  EXPECT_GE(load->stolen, 0);
  // All CPUs of the machine at most; its clock ticks a hundred times a second.
  EXPECT_LE(load->others + load->stolen, std::thread::hardware_concurrency() + 0.1 * 2);
}

}  // namespace
}  // namespace tessera
