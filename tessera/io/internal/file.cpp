#include "tessera/io/internal/file.h"

#include "tessera/core/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace tessera::io {
namespace {

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

[[noreturn]] void fail_system(const char* action, const std::filesystem::path& path, int error) {
  fail(error == ENOENT ? Code::not_found : Code::io, "cannot {} '{}': {}", action, path.string(), std::strerror(error));
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// A file beside `path` that nobody else has, with the permissions that the user's mask gives.
std::pair<int, std::filesystem::path> open_temporary(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::filesystem::path temporary = path;
    temporary += fmt::format(".{}-{}.tmp", ::getpid(), counter++);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return {fd, temporary};
    if (errno != EEXIST) fail_system("create", temporary, errno);
  }
  fail(Code::io, "cannot create a temporary file beside '{}': all names tried are taken", path.string());
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_system("open", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_system("inspect", path, errno);
  check(S_ISREG(status.st_mode), Code::io, "'{}' is not a regular file", path.string());
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) fail_system("map", path, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void write_pieces_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  std::error_code no_target;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(path, no_target)) target = std::filesystem::weakly_canonical(path);
  struct stat status {};
  const bool replaces = ::stat(target.c_str(), &status) == 0;
  check(!replaces || S_ISREG(status.st_mode), Code::io, "cannot write '{}': it exists and is not a regular file",
        path.string());
  auto [fd, temporary] = open_temporary(target);
  Descriptor file(fd);
  try {
    if (replaces && ::fchmod(file.get(), status.st_mode & 07777) != 0) fail_system("write", path, errno);
    for (const auto& piece : pieces) write_all(file.get(), piece, path);
    // Without this a crash soon after the rename could leave an empty file under the final name.
    if (::fsync(file.get()) != 0) fail_system("write", path, errno);
    if (::close(file.release()) != 0) fail_system("write", path, errno);
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail_system("write", path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace tessera::io
