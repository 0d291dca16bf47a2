#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace tessera::io {

// A file's bytes, mapped read-only. The file must not be cut short by others while it is mapped: the operating system
// then ends the process on the next access.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace tessera::io
