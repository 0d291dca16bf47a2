#pragma once

// What an ONNX file says of itself beside its graph.

#include "tessera/core/export.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace tessera {

// The entries of metadata_props, and the model's doc_string under "doc_string".
TSR_API std::map<std::string, std::string> onnx_metadata(const std::filesystem::path& model);
TSR_API std::map<std::string, std::string> onnx_metadata_bytes(std::span<const std::byte> model);

}  // namespace tessera
