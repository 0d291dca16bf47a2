#include "tessera/io/internal/mapped_file.h"

#include "tessera/core/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tessera::io {
namespace {

[[noreturn]] void fail_system(const char* action, const std::filesystem::path& path, int error) {
  fail(error == ENOENT ? Code::not_found : Code::io, "cannot {} '{}': {}", action, path.string(),
       std::generic_category().message(error));
}

}  // namespace

MappedFile::Version MappedFile::version_of(int fd, const std::filesystem::path& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail_system("inspect", path, errno);
  check(S_ISREG(status.st_mode), Code::io, "'{}' is not a regular file", path.string());
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void MappedFile::map(const std::filesystem::path& path) {
  version_ = version_of(fd_, path);
  if (version_.bytes == 0) return;
  const auto size = static_cast<std::size_t>(version_.bytes);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (address == MAP_FAILED) fail_system("map", path, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail_system("open", path, errno);
  try {
    map(path);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(fd_);
}

void MappedFile::check_unchanged() const {
  check(version_of(fd_, path_) == version_, Code::io, Hint{"load the model again"},
        "'{}' was changed after it had been loaded, and weights are still to be read from it", path_.string());
}

}  // namespace tessera::io
