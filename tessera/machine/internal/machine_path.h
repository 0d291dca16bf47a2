#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tessera::internal {

inline constexpr std::uint64_t kMachineFileBytes = 1 << 20;  // no machine file is larger

// The file of a name in the machine directories, or in the directory `beside`, which comes first.
std::optional<std::filesystem::path> machine_path(std::string_view name, const std::filesystem::path& beside = {});

}  // namespace tessera::internal
