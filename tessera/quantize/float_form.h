#pragma once

// A network as it is quantised: batch normalisation is part of weights, nothing is fused that ONNX has no operator for.

#include "tessera/graph/graph.h"

#include <string>
#include <vector>

namespace tessera {

// An Error for a network that is quantised already.
Graph float_form(const Graph& graph);

// The passes that a session leaves out so that it makes every value of such a graph.
std::vector<std::string> passes_that_fuse();

}  // namespace tessera
