#pragma once

// Plans over kernel tables as the contract shows them: for every target whose kernels run natively. A network may have
// several plans that run one after the other.

#include "tessera/core/export.h"
#include "tessera/core/table.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/target/network_plan.h"
#include "tessera/target/view.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

using KernelPlans = std::span<const std::shared_ptr<const Plan>>;

TSR_API std::vector<StepView> step_views(KernelPlans plans);
TSR_API std::vector<MoveView> move_views(KernelPlans plans);
TSR_API PlanTotals totals_of(KernelPlans plans, std::int64_t frames);
// One row for every step, conversions too.
TSR_API Table step_table(KernelPlans plans);
// Why a node runs as it does; an Error with the nodes that there are if there is none of that name.
TSR_API View explain_step(KernelPlans plans, const std::string& node);

}  // namespace tessera
