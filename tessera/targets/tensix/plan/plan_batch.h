#pragma once

// How a batch goes through a card: as a whole or in passes, and with how many images side by side in channels.

#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/precision.h"

#include <vector>

namespace tessera::tensix {

// The fastest plan of all divisions that were worth a search. Precisions are those of the network's nodes.
CardPlan plan_batch(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
                    const CardPlanHooks& hooks, const std::vector<StepPrecision>& precisions);

}  // namespace tessera::tensix
