#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

// A part of a value: some of its channels, or a box of its rows as well.
struct SliceLayer {
  std::int64_t begin = 0, end = 0;  // channels
  // Instead: the matrix as a tensor of more dimensions, channels last, and what is taken of each.
  std::vector<std::int64_t> dims = {}, begins = {}, ends = {}, steps = {};
  std::int64_t images = 1;  // of the batch, whole ones of dims[0]

  bool is_box() const { return !dims.empty(); }
  const CardOp* op() const;
};

}  // namespace tessera::tensix
