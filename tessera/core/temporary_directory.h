#pragma once

#include "tessera/core/export.h"

#include <filesystem>

namespace tessera {

// A fresh directory that is gone afterwards, with all that is in it.
class TSR_API TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tessera
