#pragma once

// Whole files, in and out. Errors name the path and say what the operating system said.

#include "tessera/core/export.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A larger file is refused before it is read. Devices and pipes are read until they end, within the same bound.
TSR_API std::vector<std::byte> read_file(const std::filesystem::path& path, std::uint64_t max_bytes);
TSR_API std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes = 64u << 20);

enum class Directories { must_exist, create };

// Readers see the old file or the whole new one, never a part: a temporary file beside it is written, synced and
// renamed over it, and those that killed processes have left are removed. A file that exists keeps its mode; a new one
// gets what the umask allows. On failure nothing is left behind. A symbolic link is followed, so the file it points to
// is the one replaced; anything but a regular file is refused. Pieces are written one after the other.
TSR_API void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes,
                                   Directories directories = Directories::must_exist);
TSR_API void write_file_atomically(const std::filesystem::path& path,
                                   std::span<const std::span<const std::byte>> pieces,
                                   Directories directories = Directories::must_exist);
TSR_API void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                                   Directories directories = Directories::must_exist);

// The Error that writing there would end with, as far as it can be known before: for what takes long to make. Changes
// nothing.
TSR_API void check_can_write(const std::filesystem::path& path, Directories directories = Directories::must_exist);

}  // namespace tessera
