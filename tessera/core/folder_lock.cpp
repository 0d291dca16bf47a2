#include "tessera/core/folder_lock.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace tessera {
namespace {

std::string holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  const std::string_view said(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const bool number = !said.empty() && said.find_first_not_of("0123456789") == std::string_view::npos;
  return number ? fmt::format("process {}", said) : "another process";
}

// Whoever held it before removed it when it was done: then this is a lock on nothing.
bool is_still(const std::filesystem::path& file, int fd) {
  struct stat mine{}, there{};
  return ::fstat(fd, &mine) == 0 && ::stat(file.c_str(), &there) == 0 && mine.st_ino == there.st_ino;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, const char* hint) : file_(folder / kFile) {
  std::error_code error;
  made_ = std::filesystem::create_directories(folder, error);  // if it fails, so does what follows
  for (;;) {
    fd_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const int opened = errno;
    check(fd_ >= 0, Code::io, "cannot write {}: {}", file_.string(), std::generic_category().message(opened));
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int refused = errno;
      const std::string who = holder(fd_);
      ::close(fd_);
      check(refused == EWOULDBLOCK, Code::io, "cannot lock {}: {}", file_.string(),
            std::generic_category().message(refused));
      fail(Code::invalid_argument, Hint{hint}, "{} is in use by {}", folder.string(), who);
    }
    if (is_still(file_, fd_)) break;
    ::close(fd_);
  }
  const std::string me = fmt::format("{}", ::getpid());
  // Only for the message above: a lock without a name still locks.
  if (::ftruncate(fd_, 0) == 0) static_cast<void>(!::pwrite(fd_, me.data(), me.size(), 0));
}

FolderLock::~FolderLock() {
  ::unlink(file_.c_str());
  ::close(fd_);
  std::error_code ignored;
  if (made_) std::filesystem::remove(file_.parent_path(), ignored);  // if nothing came into it
}

}  // namespace tessera
