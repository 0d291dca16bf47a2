#pragma once

// A simulated schedule as trace events: a row for every server of every resource, in their order.

#include "tessera/core/export.h"
#include "tessera/report/trace_events.h"
#include "tessera/timeline/timeline.h"

#include <vector>

namespace tessera {

// Tasks without a resource have no row. Each event says what it waited for, and whether it is on the critical path.
TSR_API std::vector<TraceEvent> timeline_events(const sim::Timeline& timeline, const sim::Schedule& schedule);

}  // namespace tessera
