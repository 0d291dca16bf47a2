#pragma once

// Which elements make each element of a resized axis, and with what weight: what kernels tabulate once.

#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/resize.h"

#include <cstdint>
#include <vector>

namespace tessera {

struct ResizeTap {
  std::int64_t at = 0;
  double weight = 0;
};

struct ResizeAxis {
  std::int64_t in = 0, out = 0;
  bool changes = true;                  // false: every element is itself
  std::vector<std::size_t> first = {};  // of the taps of each output element; one more at the end
  std::vector<ResizeTap> taps = {};     // one each for `nearest`, with weight 1
};

// One for each axis of x. Of `scales` and `sizes`, as the operator's inputs give them, exactly one is not empty. Not
// for tf_crop_and_resize.
TSR_API std::vector<ResizeAxis> resize_axes(const Resize& op, const Shape& x, const std::vector<double>& scales,
                                            const std::vector<std::int64_t>& sizes);

}  // namespace tessera
