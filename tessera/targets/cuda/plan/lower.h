#pragma once

// A network as the kernels of a GPU take it, and the plan for it.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/machine/machine.h"
#include "tessera/target/plan_request.h"

#include <vector>

namespace tessera::cuda {

// What values are stored as where a request does not say.
inline constexpr ElementType kDefaultStorage = ElementType::float16;

// Passes, narrow values, and fused operators that no kernel takes as nodes of their own. Inputs have these types.
TSR_API tessera::Graph lowered(tessera::Graph graph, const std::vector<TensorType>& inputs, const PlanRequest& request);

// Needs no device. A node that no kernel takes is an Error with its name, its operator and every reason.
TSR_API Plan plan_kernels(tessera::Graph graph, const GpuSpec& gpu, const PlanRequest& request);

}  // namespace tessera::cuda
