#pragma once

// A followed plan with the host around it: what its run gives to queues and pipeline.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/plan/card_plan.h"
#include "tessera/targets/tensix/time/pipeline.h"

#include <cstdint>

namespace tessera::tensix {

// Programs of a run, in its order, and what goes to the card and back. `network` is planned_network().
TSR_API tensix::PipelineWork pipeline_work(const TensixSpec& card, const tensix::LoweredGraph& network,
                                           const tensix::Simulation& run);

// Of a batch on each of `cards`, on average over a run of many, as plans count it.
TSR_API tensix::EndToEnd end_to_end(const TensixSpec& card, const tensix::PipelineWork& work,
                                    const tensix::PipelineConfig& config, std::int64_t cards);

// How the plan is run again and again.
TSR_API tensix::PipelineConfig pipeline_config(const CardPlan& plan);

}  // namespace tessera::tensix
