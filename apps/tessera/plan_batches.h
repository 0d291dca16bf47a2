#pragma once

// tessera plan MODEL --device NAME --batches 1,2,4,8: a plan for each, and the one that serves best.

#include "command.h"
#include "model_argument.h"
#include "plan_options.h"

#include "tessera/machine/machine.h"
#include "tessera/target/target.h"

namespace tessera::cli {

// As for one batch, of the batch that is chosen. The first interrupt ends the search: of the batches that are planned
// by then one is chosen, written and shown. --budget, where it was given, is for all of them; what is not planned when
// it is spent is not chosen.
void plan_batches(const ModelArgument& model, const PlanArgument& argument, const Target& target,
                  const Machine& machine, const PlanRequest& request, const Context& context);

}  // namespace tessera::cli
