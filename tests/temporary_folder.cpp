// Every test program has a temporary folder of its own, which testing::TempDir() names, so that two runs on one machine
// never meet in a file. It is gone afterwards.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tessera {
namespace {

class TemporaryFolder : public testing::Environment {
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path_.data()), nullptr) << path_;
    ASSERT_EQ(::setenv("TEST_TMPDIR", path_.c_str(), 1), 0);
    ASSERT_EQ(std::filesystem::path(testing::TempDir()).parent_path(), path_)
        << "TempDir() does not follow TEST_TMPDIR";
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::string path_;
};

// Owned by GoogleTest.
[[maybe_unused]] testing::Environment* const kTemporaryFolder = testing::AddGlobalTestEnvironment(new TemporaryFolder);

}  // namespace
}  // namespace tessera
