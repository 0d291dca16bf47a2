#pragma once

// The tables of a plan's report, for all of its renderings.

#include "tessera/core/export.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <string>

namespace tessera::tensix {

struct PlanFact {
  std::string name, value, note;
};
std::vector<PlanFact> plan_facts(const PlanReport& report);  // the head of the report

Table plan_step_table(const PlanReport& report, bool moves);
Table plan_part_table(const PlanReport& report);
TSR_API Table plan_alternative_table(const PlanReport& report, std::size_t most_of_a_step);

// The model without the alternatives, where `alternatives` is false. Compact, no '<' in it: it may stand in a <script>.
std::string plan_report_data(const PlanReport& report, bool alternatives);

}  // namespace tessera::tensix
