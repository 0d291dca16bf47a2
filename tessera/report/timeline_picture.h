#pragma once

// A simulated schedule as a drawing, a row for every resource: its beginning with a rectangle for every task, or all of
// it as bars.

#include "tessera/core/export.h"
#include "tessera/timeline/timeline.h"

#include <string>
#include <string_view>

namespace tessera {

// An SVG document that stands alone, light and dark, of the first `us` microseconds. Resources that did exactly the
// same share a row ("dma 0..15"); those that did nothing have none. Exact times are in its tooltips.
TSR_API std::string timeline_svg(const sim::Timeline& timeline, const sim::Schedule& schedule, double us,
                                 std::string_view title);

// The same of a whole run: for each of 460 equal parts of its time, how much of it a resource was busy, in the colour
// of what took most of that; and the share over all, behind the row.
TSR_API std::string timeline_overview_svg(const sim::Timeline& timeline, const sim::Schedule& schedule,
                                          std::string_view title);

}  // namespace tessera
