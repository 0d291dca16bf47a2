#include "tessera/core/file.h"

#include "tessera/core/error.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }
  template <class Body>
  static Error error_of(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(Code::internal, "");
  }

  fs::path directory_;
};

TEST_F(File, ComesBackAsWritten) {
  const std::string text("a\0b\r\n\xff", 6);
  write_file_atomically(directory_ / "x", text);
  EXPECT_EQ(read_text_file(directory_ / "x"), text);
  EXPECT_EQ(read_file(directory_ / "x", 6).size(), 6u);
  write_file_atomically(directory_ / "x", "");
  EXPECT_EQ(read_text_file(directory_ / "x"), "");
  const std::string large(3'000'000, 'q');
  write_file_atomically(directory_ / "x", large);
  EXPECT_EQ(read_text_file(directory_ / "x"), large);
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, ThatIsTooLargeIsRefusedWithBothSizes) {
  write_file_atomically(directory_ / "x", "12345");
  EXPECT_THAT(error_of([&] { read_file(directory_ / "x", 4); }).message(), HasSubstr("has 5 bytes, more than the 4"));
  // A file that does not know its size is bounded all the same.
  EXPECT_THAT(error_of([] { read_file("/dev/zero", 10'000); }).message(), HasSubstr("more than the 10000 bytes"));
}

TEST_F(File, ThatIsMissingOrADirectoryIsNamedWithTheReason) {
  const Error missing = error_of([&] { read_text_file(directory_ / "no"); });
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_EQ(missing.message(), "cannot open " + (directory_ / "no").string() + ": No such file or directory");
  EXPECT_THAT(error_of([&] { read_text_file(directory_); }).message(), HasSubstr("Is a directory"));
}

TEST_F(File, KeepsTheModeOfTheOneItReplacesAndFollowsTheUmaskOtherwise) {
  const mode_t before = ::umask(027);
  write_file_atomically(directory_ / "x", "1");
  ::umask(before);
  EXPECT_EQ(mode_of(directory_ / "x"), 0640u);
  ::chmod((directory_ / "x").c_str(), 0755);
  write_file_atomically(directory_ / "x", "2");
  EXPECT_EQ(mode_of(directory_ / "x"), 0755u);
}

TEST_F(File, IsWrittenThroughASymbolicLink) {
  write_file_atomically(directory_ / "real", "1");
  fs::create_symlink("real", directory_ / "link");
  write_file_atomically(directory_ / "link", "2");
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(read_text_file(directory_ / "real"), "2");
}

TEST_F(File, MakesDirectoriesOnlyWhenAsked) {
  const fs::path deep = directory_ / "a" / "b" / "x";
  EXPECT_EQ(error_of([&] { write_file_atomically(deep, "1"); }).code(), Code::not_found);
  EXPECT_EQ(entries(), 0);
  write_file_atomically(deep, "1", Directories::create);
  EXPECT_EQ(read_text_file(deep), "1");
}

TEST_F(File, WriteThatFailsLeavesTheOldOneAndNothingElse) {
  fs::create_directory(directory_ / "target");
  EXPECT_THAT(error_of([&] { write_file_atomically(directory_ / "target", "1"); }).message(),
              HasSubstr("it is a directory"));
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(error_of([&] { write_file_atomically(directory_ / "", "1"); }).code(), Code::invalid_argument);
}

TEST_F(File, WriteThatRunsOutOfSpaceHalfWayLeavesTheOldOneAndNothingElse) {
  write_file_atomically(directory_ / "x", "old");
  // A limit on file sizes stands for the full disk: the first 4096 bytes are taken, the rest is not.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error error = error_of([&] { write_file_atomically(directory_ / "x", std::string(10'000, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error.code(), Code::io);
  EXPECT_EQ(error.message(), "cannot write " + (directory_ / "x").string() + ": File too large");
  EXPECT_EQ(read_text_file(directory_ / "x"), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, LeftByAKilledProcessGoesWithTheNextWrite) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // killed by the limit while it writes: the temporary file stays
    const rlimit small{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &small);
    std::signal(SIGXFSZ, SIG_DFL);
    write_file_atomically(directory_ / "x", std::string(1 << 20, 'x'));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(entries(), 1);
  // Not ours, whatever they look like.
  for (const char* name : {".x.tmp", ".x.12-a.tmp", "x.12-0.tmp"}) std::ofstream(directory_ / name) << name;
  // And one that is being written by somebody else.
  const fs::path busy = directory_ / ".y.1-0.tmp";
  const int fd = ::open(busy.c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  write_file_atomically(directory_ / "z", "z");
  EXPECT_EQ(entries(), 5);
  EXPECT_TRUE(fs::exists(busy));
  ::close(fd);
}

TEST_F(File, ThatCannotBeWrittenIsToldBeforehand) {
  const auto says = [](const fs::path& path, Directories directories = Directories::must_exist) {
    return error_of([&] { check_can_write(path, directories); }).message();
  };
  EXPECT_NO_THROW(check_can_write(directory_ / "new"));
  EXPECT_NO_THROW(check_can_write("new"));  // where this is run
  EXPECT_NO_THROW(check_can_write(directory_ / "a/b/new", Directories::create));
  EXPECT_THAT(says(directory_ / "a/new"), HasSubstr("No such file or directory"));
  EXPECT_THAT(says(directory_), HasSubstr("it is a directory"));
  EXPECT_THAT(says(""), HasSubstr("it names no file"));
  EXPECT_EQ(entries(), 0);
  write_file_atomically(directory_ / "file", std::string_view("x"));
  EXPECT_NO_THROW(check_can_write(directory_ / "file"));
  for (const Directories directories : {Directories::must_exist, Directories::create})
    EXPECT_THAT(says(directory_ / "file/new", directories), HasSubstr("cannot write"));
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace tessera
