#pragma once

// What a long run has finished, kept in a folder until all of it is: a run that was stopped goes on from there.

#include "tessera/core/export.h"
#include "tessera/core/folder_lock.h"
#include "tessera/scale/communicator.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace tessera {

class TSR_API RunParts {
 public:
  // `identity` says line by line all that can change a byte of what the run computes, and every part carries its
  // digest. Without `resume`, a folder that holds parts already is an Error; with it, parts of a run of another
  // identity are, and the Error says which lines differ. The folder is locked as long as this lives.
  RunParts(std::filesystem::path folder, std::string identity, bool resume);

  const std::map<std::int64_t, Payload>& there() const { return there_; }

  // Written together once a second or so, or when there is much, each time as a file of their own: whole or not at all.
  void add(std::int64_t number, const Payload& bytes);
  void flush();

 private:
  std::filesystem::path folder_;
  std::string identity_;
  FolderLock lock_;
  std::map<std::int64_t, Payload> there_, waiting_;
  std::size_t waiting_bytes_ = 0;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

// Away with it, when all is done.
TSR_API void remove_parts(const std::filesystem::path& folder);

}  // namespace tessera
