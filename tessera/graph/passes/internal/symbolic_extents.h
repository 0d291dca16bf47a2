#pragma once

// Names for extents that are not known: two extents with one name are equal whatever the inputs are given as shapes.
// That a batch runs through the whole network unchanged is told by its name.

#include "tessera/graph/graph.h"

#include <cstdint>
#include <map>
#include <vector>

namespace tessera::internal {

// A known extent, or below 0 a name. kNameless where nothing is said.
using SymbolicDims = std::vector<std::int64_t>;
constexpr std::int64_t kNameless = TensorType::kUnknown;
inline bool is_named(std::int64_t extent) { return extent < kNameless; }

class SymbolicExtents {
 public:
  // Of a value of known rank; what has no name yet gets one.
  SymbolicDims of(const Graph& graph, ValueId id);
  // Names the extents of what a node makes after those of what it reads. Nodes come in order.
  void follow(const Graph& graph, const Node& node);
  // What a rewrite knows of a value beyond that: kNameless where nothing.
  void tell(const Graph& graph, ValueId id, const SymbolicDims& dims);

 private:
  std::map<ValueId, SymbolicDims> dims_;
  std::int64_t next_ = kNameless - 1;
};

}  // namespace tessera::internal
