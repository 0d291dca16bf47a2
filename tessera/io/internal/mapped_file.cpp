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

// Maps an open file; the mapping outlives the descriptor.
std::span<const std::byte> map(int fd, const std::filesystem::path& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) fail_system("inspect", path, errno);
  check(S_ISREG(status.st_mode), Code::io, "'{}' is not a regular file", path.string());
  if (status.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) fail_system("map", path, errno);
  return {static_cast<const std::byte*>(address), size};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_system("open", path, errno);
  try {
    bytes_ = map(fd, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tessera::io
