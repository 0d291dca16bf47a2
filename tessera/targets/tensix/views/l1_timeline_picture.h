#pragma once

// L1 of a core while a network runs: programs from left to right, addresses from bottom to top. Circular buffers stand
// on the floor, tensors hang from the ceiling; where they meet, a program does not fit.

#include "tessera/core/export.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/card/l1_timeline.h"

#include <string>
#include <string_view>

namespace tessera::tensix {

// An SVG document that stands alone, light and dark; exact numbers are in its tooltips. Names may hold anything.
TSR_API std::string l1_timeline_svg(const L1Timeline& timeline, std::string_view title);

// The drawing as a page, with a table of the steps below it. One HTML file that needs no network.
TSR_API std::string l1_timeline_html(const L1Timeline& timeline, std::string_view title, const Table& steps);

}  // namespace tessera::tensix
