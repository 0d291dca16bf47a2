#pragma once

// A network as a Python script for another machine's own library, with its weights in a safetensors file beside it.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/io/safetensors.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tessera::emit {

struct ScriptWeight {
  std::string name;
  std::vector<std::int64_t> shape;
  std::shared_ptr<const Array> array;  // as many elements as the shape says
};

struct Script {
  std::string text;
  std::string weights_file;  // its name; it lies beside the script
  std::vector<ScriptWeight> weights;
};

// "net.py" has its weights in "net.safetensors".
TSR_API std::string weights_file_of(const std::filesystem::path& script);

// Weights first, so that a script that is there has all it needs. Each file is replaced in one step.
TSR_API void save_script(const std::filesystem::path& path, const Script& script);

}  // namespace tessera::emit
