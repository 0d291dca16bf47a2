#pragma once

// What the file system refuses, said as our own errors are.

#include "tessera/core/error.h"
#include "tessera/core/export.h"

#include <filesystem>

namespace tessera {

// A name too long, a folder that may not be read.
TSR_API Error as_error(const std::filesystem::filesystem_error& error);

// The folder and those above it, where they are not there yet.
TSR_API void make_folders(const std::filesystem::path& folder);

}  // namespace tessera
