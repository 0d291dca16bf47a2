#pragma once

#include "tessera/io/safetensors.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // offsets in the data
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the text
  SafetensorsMetadata metadata;
};

constexpr std::string_view kMetadataKey = "__metadata__";

// Checks the form of the header: what is in it, but not yet whether it fits the data.
SafetensorsHeader parse_safetensors_header(std::string_view json);

// Compact, padded with spaces to a multiple of 8. Names and metadata must be UTF-8.
std::string encode_safetensors_header(const SafetensorsHeader& header);

}  // namespace tessera::io
