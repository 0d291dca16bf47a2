#pragma once

#include "tessera/io/onnx/import.h"

#include <string>
#include <vector>

namespace tessera::cli {

// NAME:1x3x224x224 words and NAME=8 words, as import takes them. Names may have colons and equal signs in them: the
// last one counts.
ImportOptions parse_import_options(const std::vector<std::string>& shapes, const std::vector<std::string>& dimensions);

}  // namespace tessera::cli
