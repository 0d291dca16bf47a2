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

// Writes the pieces one after the other to a temporary file beside `path`, then renames it: readers see the old file
// or the new one, and a failure leaves the old one alone. A symbolic link is followed, an existing file keeps its mode,
// and only regular files are replaced.
void write_pieces_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace tessera::io
