#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <string>

namespace tessera::tensix {

// memory_svg's drawing as a page: one core or bank at a time enlarged with its addresses, and tables of memories,
// buffers and moves. One HTML file that needs no network. Labels may hold anything.
TSR_API std::string memory_html(const MemoryState& state);

}  // namespace tessera::tensix
