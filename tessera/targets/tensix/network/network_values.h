#pragma once

// What flows through a network on the card.

#include "tessera/targets/tensix/network/lower.h"

#include <set>

namespace tessera::tensix {

// Inputs, outputs and results of its operators; constants are not among them.
inline std::set<ValueId> values_of(const LoweredGraph& network) {
  std::set<ValueId> ids(network.graph.inputs.begin(), network.graph.inputs.end());
  ids.insert(network.graph.outputs.begin(), network.graph.outputs.end());
  for (const LoweredNode& node : network.nodes) {
    ids.insert(node.inputs.begin(), node.inputs.end());
    ids.insert(node.outputs.begin(), node.outputs.end());
  }
  ids.erase(kNoValue);
  return ids;
}

}  // namespace tessera::tensix
