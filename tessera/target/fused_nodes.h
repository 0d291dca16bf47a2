#pragma once

// Where a node of a network went when it was planned.

#include "tessera/core/export.h"

#include <set>
#include <string>

namespace tessera {

struct Graph;

struct NodeFate {
  enum class Kind {
    step,     // it is one of its own
    part,     // of `step`: fused into it
    ahead,    // it reads constants alone: computed when the network was planned
    gone,     // no step has to do with it: it did nothing, or nothing needs it
    unknown,  // the network has no such node
  };
  Kind kind = Kind::unknown;
  std::string step = {};
};

// `graph` as it was read; `steps`: the names of those that the plan has. A node is found by its name, or by the name of
// what it makes. What has no step of its own is part of the nearest one before it, or else of the nearest behind it.
TSR_API NodeFate fate_of(const Graph& graph, const std::set<std::string>& steps, const std::string& node);

}  // namespace tessera
