#pragma once

// The to_json() texts of TTNN's classes: keys sorted, no spaces.

#include "tessera/targets/tensix/card/memory_config.h"

#include <string>

namespace tessera::python {

std::string json_text(const tensix::CoreCoord& core);
std::string json_text(const tensix::CoreRange& range);
std::string json_text(const tensix::CoreRangeSet& set);
std::string json_text(const tensix::ShardSpec& spec);
std::string json_text(const tensix::MemoryConfig& config);

}  // namespace tessera::python
