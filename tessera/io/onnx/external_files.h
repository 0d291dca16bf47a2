#pragma once

#include "tessera/core/export.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// The files that a model keeps weights in, as it names them: relative to its own folder, each once, sorted. They need
// not be there, and may be named as no importer would allow.
TSR_API std::vector<std::string> onnx_external_files(std::span<const std::byte> model);

}  // namespace tessera
