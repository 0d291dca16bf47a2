#pragma once

// A network on a simulated card, as a plan says or as the operators themselves choose.

#include "tessera/target/simulation.h"
#include "tessera/target/target.h"
#include "tessera/targets/tensix/contract/card_network_plan.h"
#include "tessera/targets/tensix/network/simulate.h"

#include <memory>
#include <vector>

namespace tessera::tensix {

std::unique_ptr<SimulatedRun> simulate_on_card(const LoadedNetwork& network, const CardNetworkPlan* plan,
                                               const Machine& machine, const SimulateRequest& request,
                                               const SimulateHooks& hooks);

// Steps one after the other, by the time of their kernels.
RunTrace run_trace_of(const std::vector<SimulatedStep>& steps);

}  // namespace tessera::tensix
