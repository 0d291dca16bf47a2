#pragma once

#include "tessera/core/export.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace tessera {

// share/tessera/<folder> above the file that holds this code: the shared library, the command or the Python module.
TSR_API std::optional<std::filesystem::path> installed_data_folder(std::string_view folder);

}  // namespace tessera
