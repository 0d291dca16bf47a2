#pragma once

// How a graph of known input shapes is cut into what can be planned, what cannot, and the rest.

#include "tessera/graph/graph.h"

#include <vector>

namespace tessera::cpu {

struct Cut {
  std::vector<bool> late;  // by node: reads only what is planned, but only a run tells the shape of its result
  std::vector<bool> rest;  // by node: reads what a late node made
  bool whole() const;      // nothing is late
};

// If and Loop count as late whatever their shapes: engines of their own run their bodies.
Cut cut(const Graph& graph);

// Inputs of the graph (by position) that are few whole numbers and decide, by way of few whole numbers, what a late
// node makes: with their values known it may not be late any more.
std::vector<std::size_t> deciding_inputs(const Graph& graph, const Cut& cut);

}  // namespace tessera::cpu
