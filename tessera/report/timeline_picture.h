#pragma once

// The beginning of a simulated schedule as a drawing: a row for every resource, a rectangle for every task.

#include "tessera/core/export.h"
#include "tessera/timeline/timeline.h"

#include <string>
#include <string_view>

namespace tessera {

// An SVG document that stands alone, light and dark, of the first `us` microseconds. Resources that did exactly the
// same share a row ("dma 0..15"); those that did nothing have none. Exact times are in its tooltips.
TSR_API std::string timeline_svg(const sim::Timeline& timeline, const sim::Schedule& schedule, double us,
                                 std::string_view title);

}  // namespace tessera
