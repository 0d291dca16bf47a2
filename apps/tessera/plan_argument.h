#pragma once

// Plan files, where a command takes a model: which file, whether it still holds, and the network it is for.

#include "model_argument.h"

#include "tessera/machine/machine.h"
#include "tessera/target/target.h"

#include <memory>
#include <string>

namespace tessera::cli {

// Whether MODEL is a plan file, or at least JSON that can only be meant as one.
bool is_plan_file(const std::string& model);

struct PlanFileArgument {
  std::string file;
  const Target& target;
  std::unique_ptr<NetworkPlan> plan;
  Machine machine;
};

// An Error if the machine's numbers have changed since. `device`: a machine file, where the plan's name would find
// another one; empty: by that name.
PlanFileArgument load_plan_file_argument(const std::string& file, const std::string& device = {});

// The network that the plan was made for, with inputs as `given` has them, attached to the plan; the model of `given`,
// where it is not empty, is taken instead of the one that the plan names. An Error if operators or shapes have changed
// since.
LoadedNetwork load_planned_network(const PlanFileArgument& argument, ModelArgument given);

// The network and its inputs.
LoadedNetwork load_network(const ModelArgument& argument);

}  // namespace tessera::cli
