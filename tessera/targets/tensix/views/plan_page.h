#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <string>

namespace tessera::tensix {

// The report as one HTML file that needs no network: the network as a graph, cores, L1 over time, times, roofline,
// what was refused. Names may hold anything; equal reports are equal bytes.
TSR_API std::string plan_page(const PlanReport& report);

}  // namespace tessera::tensix
