#include "tessera/core/internal/cgroup.h"

#include <fstream>
#include <string>

namespace tessera::internal {
namespace {

namespace fs = std::filesystem;

void add_levels(std::vector<CgroupFolder>& folders, const fs::path& mount, const std::string& group, int version) {
  for (fs::path at = fs::path(group).relative_path();; at = at.parent_path()) {
    folders.push_back({mount / at, version});
    if (at.empty()) return;
  }
}

}  // namespace

std::vector<CgroupFolder> cgroup_folders(const fs::path& root, std::string_view controller) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::vector<CgroupFolder> folders;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "0::/group" or "4:cpu,cpuacct:/group"
    const std::size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      add_levels(folders, mount, group, 2);
    } else if (("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos) {
      add_levels(folders, mount / controllers, group, 1);
      if (controllers != controller) add_levels(folders, mount / controller, group, 1);
    }
  }
  return folders;
}

}  // namespace tessera::internal
