#pragma once

#include "tessera/core/export.h"

#include <cstdint>
#include <filesystem>

namespace tessera {

// Bytes of memory that this process may fill: what the machine has, or less where its cgroup says so. Linux gives out
// more than that and kills whoever uses it, so large requests are better refused first.
TSR_API std::int64_t memory_size_bytes();

// What a run may take where nobody has said: seven eighths of it, since a process holds more than values.
TSR_API std::int64_t default_memory_limit_bytes();

// memory_size_bytes() for the files under `root` (root/proc/meminfo, root/proc/self/cgroup, root/sys/fs/cgroup).
TSR_API std::int64_t memory_size_bytes(const std::filesystem::path& root);

}  // namespace tessera
