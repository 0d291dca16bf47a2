#pragma once

// A network that was saved for one batch, for another.

#include "tessera/core/export.h"

#include <cstdint>

namespace tessera {

struct Graph;

// Every input that begins with the batch the model has gets this one instead, and targets of Reshape and Expand that
// begin with it too. An Error says what stands against it, and then the graph is as it was: inputs that begin with
// different extents, an operator that fits the old batch alone, an output that does not follow.
TSR_API void rebatch(Graph& graph, std::int64_t batch);

}  // namespace tessera
