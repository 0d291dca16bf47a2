#pragma once

// A model file that one rank has and all need: it is read once.

#include "tessera/core/export.h"
#include "tessera/core/temporary_directory.h"
#include "tessera/scale/communicator.h"

#include <filesystem>
#include <optional>

namespace tessera {

// The model's bytes, and on ranks other than 0, where it keeps weights in files of their own, a folder with copies of
// these, which ends with this object. (A graph that was imported before keeps what it needs.)
class TSR_API SharedModel {
 public:
  // All ranks call it. Nothing is shared if rank 0 has no such file: bytes() is empty then.
  SharedModel(Communicator& world, const std::filesystem::path& path);

  const Payload& bytes() const { return bytes_; }
  // Where import_onnx_bytes() finds the weights: rank 0's own folder, the copies, or none where there are no files.
  const std::filesystem::path& folder() const { return folder_; }

 private:
  void share_files(Communicator& world);

  Payload bytes_;
  std::filesystem::path folder_;
  std::optional<TemporaryDirectory> copies_;
};

}  // namespace tessera
