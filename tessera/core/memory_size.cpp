#include "tessera/core/memory_size.h"

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

// The smallest limit from the process's own group up to the root of the mount.
std::int64_t cgroup_limit(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "0::/group" or "4:memory:/group"
    const std::size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const bool old = line.substr(first + 1, second - first - 1) == "memory";
    if (!old && second != first + 1) continue;
    fs::path at = fs::path(line.substr(second + 1)).relative_path();
    for (;;) {
      least =
          std::min(least, number_in(old ? mount / "memory" / at / "memory.limit_in_bytes" : mount / at / "memory.max"));
      if (at.empty()) break;
      at = at.parent_path();
    }
  }
  return least;
}

}  // namespace

std::int64_t memory_size_bytes(const fs::path& root) { return std::min(total(root), cgroup_limit(root)); }

std::int64_t memory_size_bytes() {
  static const std::int64_t bytes = memory_size_bytes("/");
  return bytes;
}

}  // namespace tessera
