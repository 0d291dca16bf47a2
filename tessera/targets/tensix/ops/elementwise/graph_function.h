#pragma once

#include "tessera/graph/graph.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"
#include "tessera/targets/tensix/ops/lowering.h"

#include <optional>

namespace tessera::tensix {

// The function of the vector unit that computes what the node does; none: it has none.
std::optional<VectorFunction> vector_function_of(const Node& node, const Lowering& graph);

}  // namespace tessera::tensix
