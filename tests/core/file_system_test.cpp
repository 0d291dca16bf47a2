#include "tessera/core/file_system.h"

#include "tests/error_of.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using for_tests::error_of;

TEST(FileSystem, FoldersThatCannotBeMadeAreNamedWithTheReason) {
  EXPECT_EQ(error_of([] { make_folders("/proc/none"); }), "cannot use '/proc/none': No such file or directory");
  EXPECT_EQ(error_of([] { make_folders(testing::TempDir()); }), "no error");  // it is there
}

TEST(FileSystem, ARefusalIsAnErrorOfTheSystemAndNotOurs) {
  const std::string name(300, 'a');  // longer than any file may be called
  try {
    static_cast<void>(std::filesystem::exists(name));
    FAIL();
  } catch (const std::filesystem::filesystem_error& refused) {
    EXPECT_EQ(as_error(refused).code(), Code::io);
    EXPECT_EQ(as_error(refused).message(), "cannot use '" + name + "': File name too long");
  }
}

}  // namespace
}  // namespace tessera
