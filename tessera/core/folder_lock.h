#pragma once

// One process at a time in a folder.

#include "tessera/core/export.h"

#include <filesystem>

namespace tessera {

// Held until it is destroyed or the process ends, however it ends. A folder that another process holds is an Error that
// names that process.
class TSR_API FolderLock {
 public:
  // Makes the folder if need be. `hint`: what to do about a folder that is in use.
  FolderLock(const std::filesystem::path& folder, const char* hint);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  static constexpr const char* kFile = "in_use.lock";  // there while it is held, or if its holder was killed

 private:
  std::filesystem::path file_;
  int fd_ = -1;
  bool made_ = false;  // the folder
};

}  // namespace tessera
