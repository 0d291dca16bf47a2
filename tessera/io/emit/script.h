#pragma once

// Scripts as files, with their weights in a safetensors file beside them.

#include "tessera/core/export.h"
#include "tessera/target/script.h"

#include <filesystem>
#include <string>

namespace tessera::emit {

// "net.py" has its weights in "net.safetensors".
TSR_API std::string weights_file_of(const std::filesystem::path& script);

// Weights first, so that a script that is there has all it needs. Each file is replaced in one step.
TSR_API void save_script(const std::filesystem::path& path, const Script& script);

}  // namespace tessera::emit
