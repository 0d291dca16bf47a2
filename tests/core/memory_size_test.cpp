#include "tessera/core/memory_size.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class MemorySize : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("memory-size-" + std::to_string(getpid()));
    fs::create_directories(root_ / "proc/self");
    write("proc/meminfo", "MemTotal:       2048 kB\nMemFree:        100 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  fs::path root_;
};

TEST_F(MemorySize, IsWhatTheMachineHas) { EXPECT_EQ(memory_size_bytes(root_), 2048 << 10); }

TEST_F(MemorySize, IsLessWhereAGroupOrOneAboveItSaysSo) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  write("sys/fs/cgroup/a/memory.max", "65536\n");
  EXPECT_EQ(memory_size_bytes(root_), 65536);
}

TEST_F(MemorySize, KnowsTheFirstKindOfGroups) {
  write("proc/self/cgroup", "4:memory:/c\n3:cpu:/c\n");
  write("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(memory_size_bytes(root_), 4096);
}

TEST_F(MemorySize, KnowsGroupsOfSeveralControllersAndTheRoot) {
  write("proc/self/cgroup", "nonsense\n0::\n5:cpu,memory:/c\n");
  write("sys/fs/cgroup/cpu,memory/c/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(memory_size_bytes(root_), 8192);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(memory_size_bytes(root_), 4096);
  write("sys/fs/cgroup/memory.max", "2048\n");
  EXPECT_EQ(memory_size_bytes(root_), 2048);
}

TEST_F(MemorySize, AGroupMayHaveAByteAndNoneMeansNoLimit) {
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/memory.max", "1\n");
  EXPECT_EQ(memory_size_bytes(root_), 1);
  write("sys/fs/cgroup/a/memory.max", "0\n");
  EXPECT_EQ(memory_size_bytes(root_), 2048 << 10);
}

TEST_F(MemorySize, OfThisMachineIsSomething) { EXPECT_GT(memory_size_bytes(), 1 << 20); }

}  // namespace
}  // namespace tessera
