#include "tessera/core/parallel_for.h"

#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ParallelFor : public ::testing::Test {
 protected:
  void SetUp() override { set_max_threads(4); }
  void TearDown() override { set_max_threads(0); }
};

TEST_F(ParallelFor, CoversEveryIndexOnceInRangesOfWholeGrains) {
  for (std::int64_t n : {0, 1, 2, 7, 16, 17, 100, 1000, 4097})
    for (std::int64_t grain : {0, 1, 3, 16, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      std::atomic<bool> whole{true};
      parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        if (begin >= end || end > n || (grain > 0 && end != n && (end - begin) % grain != 0)) whole = false;
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      EXPECT_TRUE(whole) << n << " by " << grain;
      for (const std::atomic<int>& count : seen) ASSERT_EQ(count, 1) << n << " by " << grain;
    }
}

TEST_F(ParallelFor, CountsTo63BitsWithoutOverflow) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  std::mutex mutex;
  std::set<std::pair<std::int64_t, std::int64_t>> ranges;
  parallel_for(kAll, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace(begin, end);
  });
  std::int64_t next = 0;
  for (const auto& [begin, end] : ranges) {
    EXPECT_EQ(begin, next);
    next = end;
  }
  EXPECT_EQ(next, kAll);
}

TEST_F(ParallelFor, UsesSeveralThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> arrived{0};
  parallel_for(4, 1, [&](std::int64_t begin, std::int64_t end) {
    arrived += static_cast<int>(end - begin);
    for (int i = 0; i < 2000 && arrived < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 4u);
}

TEST_F(ParallelFor, OneGrainRunsInline) {
  int calls = 0;
  std::thread::id where;
  parallel_for(10, 10, [&](std::int64_t begin, std::int64_t end) {
    ++calls;
    where = std::this_thread::get_id();
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_F(ParallelFor, NestedCallsRunInline) {
  std::atomic<int> inner{0}, outer{0};
  parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
    outer += static_cast<int>(end - begin);
    const std::thread::id here = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::int64_t b, std::int64_t e) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      EXPECT_EQ(e - b, 100);
      ++inner;
    });
  });
  EXPECT_EQ(outer, 8);
  EXPECT_GE(inner, 1);
  // And afterwards the outermost call is parallel again.
  std::atomic<int> ranges{0};
  parallel_for(100, 1, [&](std::int64_t, std::int64_t) { ++ranges; });
  EXPECT_GT(ranges, 1);
}

TEST_F(ParallelFor, CarriesAnExceptionToTheCallerAndStaysUsable) {
  for (int i = 0; i < 20; ++i) {
    try {
      parallel_for(64, 1, [](std::int64_t begin, std::int64_t) {
        if (begin >= 0) throw std::runtime_error("from a body");
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "from a body");
    }
  }
  std::atomic<std::int64_t> sum{0};
  parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST(Threads, CanBeSetAndRefuseNonsense) {
  set_max_threads(3);
  EXPECT_EQ(max_threads(), 3);
  EXPECT_EQ(thread_count_report().source, "set by the program");
  EXPECT_THROW(set_max_threads(-1), Error);
  EXPECT_EQ(max_threads(), 3);
  set_max_threads(0);
  EXPECT_GE(max_threads(), 1);
  EXPECT_EQ(thread_count_report().count, max_threads());
  EXPECT_GE(hardware_threads(), 1);
}

// A made-up /proc and /sys.
class CgroupThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera_cgroup_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  fs::path root_;
};

TEST_F(CgroupThreads, WithoutAQuotaTheAffinityMaskCounts) {
  const ThreadCount count = count_threads(6, root_);
  EXPECT_EQ(count.count, 6);
  EXPECT_THAT(count.source, HasSubstr("6 CPUs, no cgroup quota"));
}

TEST_F(CgroupThreads, Version2QuotaIsRoundedUp) {
  write("proc/self/cgroup", "0::/jobs/one");
  write("sys/fs/cgroup/jobs/one/cpu.max", "150000 100000");
  const ThreadCount count = count_threads(8, root_);
  EXPECT_EQ(count.count, 2);
  EXPECT_THAT(count.source, HasSubstr("cgroup v2 quota allows 1.5"));
}

TEST_F(CgroupThreads, AParentsSmallerQuotaWins) {
  write("proc/self/cgroup", "0::/jobs/one");
  write("sys/fs/cgroup/jobs/one/cpu.max", "max 100000");
  write("sys/fs/cgroup/jobs/cpu.max", "50000 100000");
  EXPECT_EQ(count_threads(8, root_).count, 1);
}

TEST_F(CgroupThreads, AQuotaAboveTheMaskChangesNothing) {
  write("proc/self/cgroup", "0::/");
  write("sys/fs/cgroup/cpu.max", "1600000 100000");
  EXPECT_EQ(count_threads(8, root_).count, 8);
}

TEST_F(CgroupThreads, Version1QuotaCountsAndMinusOneDoesNot) {
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/abc\n0::/");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000");  // the container's view: its group is the root
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  const ThreadCount count = count_threads(8, root_);
  EXPECT_EQ(count.count, 3);
  EXPECT_THAT(count.source, HasSubstr("cgroup v1 quota allows 3"));
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(count_threads(8, root_).count, 8);
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000");
  fs::remove(root_ / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us");
  EXPECT_EQ(count_threads(8, root_).count, 8) << "a quota of no known period";
}

TEST_F(CgroupThreads, GarbageIsNoQuota) {
  write("proc/self/cgroup", "0::/\n:::\nx");
  write("sys/fs/cgroup/cpu.max", "lots");
  EXPECT_EQ(count_threads(3, root_).count, 3);
  write("sys/fs/cgroup/cpu.max", "0 0");
  EXPECT_EQ(count_threads(3, root_).count, 3);
}

}  // namespace
}  // namespace tessera
