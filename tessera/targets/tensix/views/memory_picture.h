#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/views/memory_state.h"

#include <string>

namespace tessera::tensix {

// Where everything lies on a device: the grid of cores with the L1 of each as a column, the DRAM banks, and a legend.
// An SVG document that stands alone, light and dark; exact numbers are in its tooltips. Labels may hold anything.
TSR_API std::string memory_svg(const MemoryState& state);

}  // namespace tessera::tensix
