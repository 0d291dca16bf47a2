#include "tessera/core/memory_size.h"

#include "tessera/core/internal/cgroup.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// "MemTotal:       24567890 kB"
std::int64_t total(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    std::int64_t kilobytes = 0;
    if (words >> key >> kilobytes && key == "MemTotal:") return kilobytes << 10;
  }
  return std::numeric_limits<std::int64_t>::max();
}

std::int64_t number_in(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t bytes = 0;
  return in >> bytes && bytes > 0 ? bytes : std::numeric_limits<std::int64_t>::max();  // "max": no limit
}

std::int64_t cgroup_limit(const fs::path& root) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [folder, version] : internal::cgroup_folders(root, "memory"))
    least = std::min(least, number_in(folder / (version == 2 ? "memory.max" : "memory.limit_in_bytes")));
  return least;
}

}  // namespace

std::int64_t memory_size_bytes(const fs::path& root) { return std::min(total(root), cgroup_limit(root)); }

std::int64_t memory_size_bytes() {
  static const std::int64_t bytes = memory_size_bytes("/");
  return bytes;
}

std::int64_t default_memory_limit_bytes() { return memory_size_bytes() / 8 * 7; }

}  // namespace tessera
