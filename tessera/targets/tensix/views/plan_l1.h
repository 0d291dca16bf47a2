#pragma once

// L1 of a planned network: which cores work and hold what, and every buffer by address.

#include "tessera/targets/tensix/views/plan_report.h"

namespace tessera::tensix {

void add_l1(const PlanReportSources& sources, PlanReport& report);

}  // namespace tessera::tensix
