#include "tessera/core/file.h"

#include "tessera/core/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // Closing can report a late write error (full disk over a network), so writers close by hand.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Removes the temporary file unless the rename has taken it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

[[noreturn]] void fail_os(std::string_view what, const fs::path& path, int error) {
  const Code code = error == ENOENT || error == ENOTDIR ? Code::not_found : Code::io;
  fail(code, "cannot {} {}: {}", what, path.string(), std::generic_category().message(error));
}

// Appends everything up to the end of the file. `Buffer` is a vector of bytes or a string.
template <class Buffer>
void read_all(const fs::path& path, std::uint64_t max_bytes, Buffer& buffer) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_os("open", path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail_os("read", path, errno);
  if (S_ISDIR(status.st_mode)) fail_os("read", path, EISDIR);
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  check(size <= max_bytes, Code::invalid_argument, "{} has {} bytes, more than the {} accepted here", path.string(),
        size, max_bytes);
  // The size is only a first guess: pipes and /proc report 0. One more byte lets the usual file end without growing.
  std::uint64_t used = 0;
  buffer.resize(std::max<std::uint64_t>(size, 4095) + 1);
  for (;;) {
    if (used == buffer.size()) buffer.resize(2 * buffer.size());
    const ssize_t got = ::read(file.get(), buffer.data() + used, buffer.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_os("read", path, errno);
    if (got == 0) break;
    used += static_cast<std::uint64_t>(got);
    check(used <= max_bytes, Code::invalid_argument, "{} has more than the {} bytes accepted here", path.string(),
          max_bytes);
  }
  buffer.resize(used);
}

void write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_os("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

// The mode of the file being replaced, or what the umask leaves of 0666. Reading the umask means setting it for an
// instant, so it is taken from a file system object instead: open(2) applies it for us.
mode_t mode_for(const fs::path& target, int temporary_fd) {
  struct stat status{};
  if (::stat(target.c_str(), &status) == 0) return status.st_mode & 07777;
  return ::fstat(temporary_fd, &status) == 0 ? status.st_mode & 07777 : 0600;
}

fs::path directory_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

// Creates a new, uniquely named file beside the target; its mode follows the umask (mkstemp's would be 0600). It is
// locked as long as it is open: one that is not locked was left by a process that is gone.
int create_beside(const fs::path& target, std::string& name) {
  const fs::path directory = directory_of(target);
  for (unsigned attempt = 0; attempt < 10000; ++attempt) {
    name = (directory / fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt)).string();
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return fd;
    struct stat mine{}, there{};
    ::flock(fd, LOCK_EX);  // where files cannot be locked, none is taken for left over either
    if (::fstat(fd, &mine) == 0 && ::stat(name.c_str(), &there) == 0 && mine.st_ino == there.st_ino) return fd;
    ::close(fd);  // taken for one that was left over, before it was locked
  }
  errno = EEXIST;
  return -1;
}

// .NAME.PROCESS-NUMBER.tmp
bool is_temporary_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(".tmp")) return false;
  name.remove_suffix(4);
  const std::size_t dot = name.rfind('.');
  const std::string_view tail = name.substr(dot + 1);
  return dot > 0 && tail.find('-') != std::string_view::npos &&
         tail.find_first_not_of("0123456789-") == std::string_view::npos;
}

// What processes that were killed while they wrote have left in a folder; looked for once by a process.
void remove_left_over(const fs::path& directory) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(directory, error);
    if (error || seen.size() > 1000 || !seen.insert(whole.string()).second) return;
  }
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_temporary_name(entry->path().filename().string())) continue;
    const Descriptor file(::open(entry->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (file.get() >= 0 && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry->path().c_str());
  }
}

// The file that is written when `path` is, or the Error that it cannot be one.
fs::path target_of(const fs::path& path) {
  check(path.has_filename(), Code::invalid_argument, "cannot write '{}': it names no file", path.string());
  std::error_code ignored;
  fs::path target = path;
  if (fs::is_symlink(target, ignored)) {
    if (fs::path followed = fs::weakly_canonical(target, ignored); !ignored) target = std::move(followed);
  }
  check(!fs::is_directory(target, ignored), Code::io, "cannot write {}: it is a directory", path.string());
  check(!fs::exists(target, ignored) || fs::is_regular_file(target, ignored), Code::io,
        "cannot write {}: it exists and is not a regular file", path.string());
  return target;
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path, std::uint64_t max_bytes) {
  std::vector<std::byte> bytes;
  read_all(path, max_bytes, bytes);
  return bytes;
}

std::string read_text_file(const fs::path& path, std::uint64_t max_bytes) {
  std::string text;
  read_all(path, max_bytes, text);
  return text;
}

void write_file_atomically(const fs::path& path, std::span<const std::span<const std::byte>> pieces,
                           Directories directories) {
  const fs::path target = target_of(path);
  if (directories == Directories::create && target.has_parent_path()) {
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) fail_os("create directory", target.parent_path(), error.value());
  }

  remove_left_over(directory_of(target));
  std::string temporary_name;
  Descriptor file(create_beside(target, temporary_name));
  if (file.get() < 0) fail_os("write", path, errno);
  TemporaryFile temporary(temporary_name);
  const Descriptor lock(::dup(file.get()));  // until it has its name
  if (::fchmod(file.get(), mode_for(target, file.get())) != 0) fail_os("write", path, errno);
  for (const std::span<const std::byte> piece : pieces) write_all(file.get(), piece, path);
  if (::fsync(file.get()) != 0) fail_os("write", path, errno);
  if (!file.close()) fail_os("write", path, errno);
  if (::rename(temporary.path().c_str(), target.c_str()) != 0) fail_os("write", path, errno);
  temporary.keep();

  // The new name is safe on disk only when its directory is; where directories cannot be synced the data still is.
  const fs::path directory = directory_of(target);
  const Descriptor parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) static_cast<void>(::fsync(parent.get()));
}

void check_can_write(const fs::path& path, Directories directories) {
  fs::path directory = directory_of(target_of(path));
  std::error_code ignored;
  if (directories == Directories::create)  // the first that is there is where the others would be made
    while (!fs::exists(directory, ignored) && directory != directory_of(directory)) directory = directory_of(directory);
  if (::access(directory.c_str(), W_OK | X_OK) != 0) fail_os("write", path, errno);
  check(fs::is_directory(directory, ignored), Code::io, "cannot write {}: {} is no directory", path.string(),
        directory.string());
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes, Directories directories) {
  write_file_atomically(path, std::span<const std::span<const std::byte>>(&bytes, 1), directories);
}

void write_file_atomically(const fs::path& path, std::string_view text, Directories directories) {
  write_file_atomically(path, std::as_bytes(std::span(text)), directories);
}

}  // namespace tessera
