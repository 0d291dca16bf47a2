#pragma once

// A plan as a TTNN script: every call that the plan says, with every argument, in its order. It needs ttnn and numpy
// alone, runs on a card, on one that is mocked and on tessera.ttnn, and compares what each layer takes of L1 with what
// was planned.

#include "tessera/core/export.h"
#include "tessera/io/emit/script.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <string>

namespace tessera::tensix {

// `network` is the one that the plan was made for. Operators that run on the host are an Error that lists them all.
TSR_API emit::Script ttnn_script(const tensix::LoweredGraph& network, const tensix::CardPlan& plan,
                                 const std::string& weights_file);

}  // namespace tessera::tensix
