#pragma once

// A plan, followed to the letter.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera::tensix {

// The network for the images of one pass.
TSR_API tensix::LoweredGraph pass_network(const tensix::LoweredGraph& network, const CardPlan& plan);
// The same as the plan runs it: with images side by side in channels and inputs folded, as the plan has them.
TSR_API tensix::LoweredGraph planned_network(const tensix::LoweredGraph& network, const CardPlan& plan);

struct RunPlanHooks {
  std::function<void(const tensix::SimulatedStep&)> on_step = {};  // moves are steps of their own
  std::function<void(const tensix::LoweredNode&, const Array&)> on_result = {};
};

// Makes the plan's calls and no others, on planned_network(). What the card refuses is an Error that names the step,
// and so is a plan of another network. The device needs the L1_SMALL that the plan was made for.
//
// Outputs, and results that hooks hear of, are those of the whole batch; steps are those of the last pass, which is the
// only one on this device. The others make the same calls on devices of their own, if there are values to compute.
TSR_API tensix::Simulation run_plan(const std::shared_ptr<Device>& device, const tensix::LoweredGraph& network,
                                    const CardPlan& plan, const std::vector<Array>& inputs,
                                    const RunPlanHooks& hooks = {});

// Without values: inputs are whatever the network takes.
TSR_API tensix::Simulation rehearse_plan(const Machine& machine, const tensix::LoweredGraph& network,
                                         const CardPlan& plan, const RunPlanHooks& hooks = {});

}  // namespace tessera::tensix
