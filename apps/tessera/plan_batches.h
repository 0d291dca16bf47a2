#pragma once

// tessera plan MODEL --device CARD --batches 1,2,4,8: a plan for each, and the one that serves best.

#include "command.h"
#include "model_argument.h"
#include "plan_card.h"

#include "tessera/machine/machine.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tessera::cli {

// --batches, --goal, --max-latency: returned, so that they can be refused where there is no card.
std::vector<CLI::Option*> add_batches_request(CLI::App& command, BatchesArgument& argument);

// As plan_for_card, of the batch that is chosen. The first interrupt ends the search: of the batches that are planned
// by then one is chosen, written and shown. --budget, where it was given, is for all of them; what is not planned when
// it is spent is not chosen.
void plan_batches(const ModelArgument& model, const CardRequestArgument& request, const Machine& machine,
                  const std::string& file, const Context& context);

}  // namespace tessera::cli
