#pragma once

// Where Linux keeps the limits of a process's control group.

#include <filesystem>
#include <string_view>
#include <vector>

namespace tessera::internal {

struct CgroupFolder {
  std::filesystem::path path;
  int version = 2;  // which decides the names of the files in it
};

// The folders that may limit this process for one controller ("cpu", "memory"), read from the files under `root`
// (root/proc/self/cgroup, root/sys/fs/cgroup): its own group's and those of all groups above it, since each level
// limits those below. Inside a container some may not exist; those that do count.
std::vector<CgroupFolder> cgroup_folders(const std::filesystem::path& root, std::string_view controller);

}  // namespace tessera::internal
