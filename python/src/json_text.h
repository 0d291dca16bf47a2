#pragma once

// The to_json() texts of TTNN's classes: keys sorted, no spaces.

#include "tessera/targets/tensix/card/memory_config.h"

#include <string>

namespace tessera::python {

std::string json_text(const CoreCoord& core);
std::string json_text(const CoreRange& range);
std::string json_text(const CoreRangeSet& set);
std::string json_text(const ShardSpec& spec);
std::string json_text(const MemoryConfig& config);

}  // namespace tessera::python
