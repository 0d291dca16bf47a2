#pragma once

// What the planner of kernels does beside the passes of the graph, because it needs shapes and a machine. Each stage
// has a name, and is left out by it where passes are.

#include "tessera/core/export.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/kernel_plan/plan.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct PlanningStage {
  std::string_view name;  // what switches it off
  std::string_view what;  // one line for people
};

// In the order in which they run.
TSR_API std::span<const PlanningStage> planning_stages();

// Convolutions in a row become one node that is computed row by row (fuse_chains of graph/passes/pass.h).
constexpr std::string_view kFuseChains = "fuse_chains";

// Which passes and stages run: all but those with these names. A name that neither has is an Error that lists them.
struct Optimisations {
  PassOptions passes;
  bool chains = true;
  bool orders = true;  // PlanOptions::orders
  bool parts = true;   // PlanOptions::parts
};
TSR_API Optimisations without(std::span<const std::string> names);

}  // namespace tessera
