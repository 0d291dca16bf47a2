#include "tessera/io/internal/loaded_file.h"

#include "tessera/core/error.h"
#include "tessera/core/memory_size.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tessera::io {
namespace {

[[noreturn]] void fail_system(const char* action, const std::filesystem::path& path, int error) {
  fail(error == ENOENT ? Code::not_found : Code::io, "cannot {} '{}': {}", action, path.string(),
       std::generic_category().message(error));
}

}  // namespace

OpenFile::OpenFile(const std::filesystem::path& path) : path_(path) {
  // A pipe of that name would make open() wait for a writer.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail_system("open", path, errno);
  try {
    version_ = version_now();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

OpenFile::~OpenFile() { ::close(fd_); }

OpenFile::Version OpenFile::version_now() const {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) fail_system("inspect", path_, errno);
  check(S_ISREG(status.st_mode), Code::io, "'{}' is not a regular file", path_.string());
  return {status.st_size,        status.st_mtim.tv_sec,  status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec, status.st_ctim.tv_nsec, static_cast<std::uint64_t>(status.st_nlink)};
}

void OpenFile::check_unchanged() const {
  const Version now = version_now();
  const bool same =
      now.bytes == version_.bytes && now.written_s == version_.written_s && now.written_ns == version_.written_ns &&
      (now.names != version_.names || (now.changed_s == version_.changed_s && now.changed_ns == version_.changed_ns));
  check(same, Code::io, Hint{"load the model again"},
        "'{}' was changed after it had been opened, and there is still something to be read from it", path_.string());
}

void OpenFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  check_unchanged();
  while (!to.empty()) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // of one call
    const ssize_t got = ::pread(fd_, to.data(), std::min(to.size(), kMost), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_system("read", path_, errno);
    check(got > 0, Code::io, "'{}' was cut short while it was read: {} B are missing", path_.string(), to.size());
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  check_unchanged();
}

LoadedFile::LoadedFile(const std::filesystem::path& path) : file_(std::make_shared<const OpenFile>(path)) {
  check(file_->size() <= static_cast<std::uint64_t>(memory_size_bytes()), Code::out_of_memory,
        "'{}' has {} B, this machine's memory {} B", path.string(), file_->size(), memory_size_bytes());
  bytes_ = Bytes(static_cast<std::size_t>(file_->size()));
  file_->read(0, bytes_);
}

}  // namespace tessera::io
