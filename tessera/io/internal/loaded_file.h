#pragma once

#include "tessera/core/bytes.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace tessera::io {

// A file that stays open, to be read from whenever its bytes are wanted. Nothing is mapped: whatever others do to the
// file meanwhile, reading it gives bytes or an Error. A file that is replaced (renamed over) stays what it was.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::uint64_t size() const { return static_cast<std::uint64_t>(version_.bytes); }  // when it was opened

  // So many bytes from `offset` on. An Error if the file was written to or cut short since it was opened, be it while
  // this reads.
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  struct Version {
    std::int64_t bytes = 0;
    std::int64_t written_s = 0, written_ns = 0;  // the time of the last write, which anyone can put back
    std::int64_t changed_s = 0, changed_ns = 0;  // which nobody can, but it is also that of a new or lost name
    std::uint64_t names = 0;
  };
  Version version_now() const;
  void check_unchanged() const;

  std::filesystem::path path_;
  int fd_ = -1;
  Version version_;
};

// All bytes of a file, read once.
class LoadedFile {
 public:
  explicit LoadedFile(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::shared_ptr<const OpenFile>& file() const { return file_; }

 private:
  std::shared_ptr<const OpenFile> file_;
  Bytes bytes_;
};

}  // namespace tessera::io
