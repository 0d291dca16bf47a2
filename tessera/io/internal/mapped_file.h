#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace tessera::io {

// A file's bytes, mapped read-only. The file must not be cut short by others while it is mapped: the operating system
// then ends the process on the next access. Files that are replaced (renamed over) stay what they were.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  // An Error if the file was written to or cut short since it was mapped. Who reads it long after asks first.
  void check_unchanged() const;

 private:
  struct Version {
    std::int64_t bytes = 0, seconds = 0, nanoseconds = 0;  // size, and time of the last change
    bool operator==(const Version&) const = default;
  };
  static Version version_of(int fd, const std::filesystem::path& path);
  void map(const std::filesystem::path& path);

  std::filesystem::path path_;
  int fd_ = -1;
  Version version_;
  std::span<const std::byte> bytes_;
};

}  // namespace tessera::io
