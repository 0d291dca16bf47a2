#pragma once

// Lists of whole numbers that are made of shapes, element by element: some are known, others are extents with a name.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/internal/symbolic_extents.h"

#include <map>
#include <optional>
#include <vector>

namespace tessera::internal {

struct ShapeElement {
  bool known = false;
  std::int64_t value = 0;  // a number if known, otherwise the name of an extent
};
using ShapeList = std::vector<ShapeElement>;

class ShapeValues {
 public:
  // Of a constant or of what follow() has seen; none for anything else.
  std::optional<ShapeList> of(const Rewriter& r, ValueId id) const;
  // Works out what the node makes from what it reads, if that is about shapes. Nodes come in order.
  void follow(const Rewriter& r, SymbolicExtents& extents, const Node& node);

 private:
  std::map<ValueId, ShapeList> lists_;
};

}  // namespace tessera::internal
