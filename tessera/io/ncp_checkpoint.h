#pragma once

// Training that was interrupted, as a safetensors file: parameters under their own names, the best ones under "best.",
// the optimiser's memory under "optimizer.0." and so on, and everything else as JSON in the metadata. The layer alone
// is save_ncp_file()'s.

#include "tessera/core/export.h"
#include "tessera/ncp/trainer.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace tessera {

struct NcpCheckpoint {
  ncp::Layer layer;
  ncp::TrainingOptions options;
  ncp::TrainingState state;
  std::map<std::string, std::string> notes{};  // of whoever trains: the task and its settings
};

// Replaces the file in one step: a full disk or a crash leaves the older one as it was.
TSR_API void save_ncp_checkpoint(const std::filesystem::path& path, const NcpCheckpoint& checkpoint);
TSR_API NcpCheckpoint load_ncp_checkpoint(const std::filesystem::path& path);
// The bytes of such a file.
TSR_API NcpCheckpoint parse_ncp_checkpoint(std::span<const std::byte> file);

}  // namespace tessera
