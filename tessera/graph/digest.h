#pragma once

// Which network a graph is, in a few letters: for files that are of use for one network alone.

#include "tessera/core/export.h"

#include <string>

namespace tessera {

struct Graph;

// Of the names and operators of all nodes and of what they read and make, bodies of If and Loop too. Not of shapes, so
// that a plan for another batch can be followed, nor of weights.
TSR_API std::string network_digest(const Graph& graph);

// Of every constant, bodies of If and Loop too: whatever file it came from.
TSR_API std::string weights_digest(const Graph& graph);

}  // namespace tessera
