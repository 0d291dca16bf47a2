#include "tessera/core/folder_lock.h"

#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;

class FolderLockTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_ = fs::path(testing::TempDir()) / ("folder-lock-" + std::to_string(getpid()));
};

TEST_F(FolderLockTest, OneAtATime) {
  const fs::path folder = root_ / "a" / "b";
  {
    const FolderLock lock(folder, "wait for it");
    EXPECT_TRUE(fs::exists(folder / FolderLock::kFile));
    EXPECT_THAT(error_of([&] { FolderLock(folder, "wait for it"); }),
                AllOf(HasSubstr("in use by process " + std::to_string(getpid())), HasSubstr("wait for it")));
    EXPECT_TRUE(fs::exists(folder / FolderLock::kFile)) << "a refusal takes nothing away";
  }
  EXPECT_FALSE(fs::exists(folder)) << "it was made for the lock, and nothing came into it";
  const FolderLock again(folder, "");
}

TEST_F(FolderLockTest, LeavesFoldersThatWereThereOrHoldSomething) {
  {
    const FolderLock lock(root_, "");
  }
  EXPECT_TRUE(fs::is_empty(root_));
  {
    const FolderLock lock(root_ / "new", "");
    std::ofstream(root_ / "new" / "result") << "1";
  }
  EXPECT_TRUE(fs::exists(root_ / "new" / "result"));
  EXPECT_FALSE(fs::exists(root_ / "new" / FolderLock::kFile));
}

TEST_F(FolderLockTest, TheFileOfOneThatWasKilledHoldsNobodyUp) {
  std::ofstream(root_ / FolderLock::kFile) << "1";
  std::optional<FolderLock> lock(std::in_place, root_, "");
  std::string holder;
  std::ifstream(root_ / FolderLock::kFile) >> holder;
  EXPECT_EQ(holder, std::to_string(getpid()));
  lock.reset();
  EXPECT_FALSE(fs::exists(root_ / FolderLock::kFile));
}

TEST_F(FolderLockTest, SaysWhatCannotBeWritten) {
  std::ofstream(root_ / "file") << "1";
  EXPECT_THAT(error_of([&] { FolderLock(root_ / "file", ""); }), HasSubstr("cannot write"));
}

}  // namespace
}  // namespace tessera
