#pragma once

// Values that are another one's elements at regular places: what transposes, reshapes and cuts in a row amount to.

#include "tessera/graph/passes/internal/rewriter.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::internal {

struct StridedView {
  struct Dimension {
    std::int64_t size, stride;
  };
  ValueId root = kNoValue;
  std::int64_t offset = 0;  // in elements
  std::vector<Dimension> dims;
  double scale = 1;  // that the elements are multiplied with on the way

  static StridedView whole(ValueId id, const Shape& shape);
};

// The value seen from as far back as only Transpose, Reshape and its kin, Split, Slice, Gather of one element and
// products with one constant number lie between. Its type must be static.
StridedView strided_view(const Rewriter& r, ValueId id);

}  // namespace tessera::internal
