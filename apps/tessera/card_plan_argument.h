#pragma once

// Plans for cards, where a command takes a model: which file, whether it still holds, and the network it is for.

#include "model_argument.h"

#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <cstdint>
#include <string>

namespace tessera::cli {

// Whether MODEL is a plan file, or at least JSON that can only be meant as one.
bool is_plan_file(const std::string& model);

struct CardPlanArgument {
  std::string file;
  tensix::CardPlan plan;
  Machine machine;
};

// An Error if the machine's numbers have changed since. `device`: a machine file, where the plan's name would find
// another one; empty: by that name.
CardPlanArgument load_card_plan_argument(const std::string& file, const std::string& device = {});

struct PlannedModel {
  Model model;
  tensix::LoweredGraph network;
};

// The network that the plan was made for, with inputs as `given` has them; its model, where it is not empty, is taken
// instead of the one that the plan names. An Error if operators or shapes have changed since.
PlannedModel load_planned_model(const CardPlanArgument& argument, ModelArgument given);

// Cores of the plan's machine that hold L1; where the machine cannot be had, the most that a step takes.
std::int64_t l1_banks_of(const tensix::CardPlan& plan);

// The step of a node or of what it makes; an Error with what was perhaps meant.
std::size_t find_planned_step(const tensix::CardPlan& plan, const std::string& node);

}  // namespace tessera::cli
