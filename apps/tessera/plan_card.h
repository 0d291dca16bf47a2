#pragma once

// tessera plan for a Tensix card: a whole network placed on it.

#include "command.h"
#include "model_argument.h"
#include "plan_emit.h"

#include "tessera/planner/card_plan.h"

#include <string>
#include <vector>

namespace tessera::cli {

struct CardArguments {
  std::string device, objective = "device";
  std::vector<std::string> pins;
  planner::PlanRequest request;
  bool no_trace = false;
  EmitArgument emit;
};

// --device, --objective, --min-pcc, --pin, --l1-small, --cq, --no-trace, --mesh, --budget, --partial.
void add_card_options(CLI::App& command, CardArguments& arguments);

// "layer3.*:shard=BLOCK"
planner::Pin parse_pin(const std::string& text);

void plan_for_card(const ModelArgument& model, const CardArguments& arguments, const Context& context);

}  // namespace tessera::cli
