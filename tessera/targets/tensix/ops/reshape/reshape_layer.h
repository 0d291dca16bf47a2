#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>

namespace tessera::tensix {

// A change of extents: the same matrix, or images whose pixels become columns.
struct ReshapeLayer {
  std::int64_t pixels = 1;  // so many rows become one; 1: the matrix stays as it is

  bool is_view() const { return pixels == 1; }

  const CardOp* op() const;
};

}  // namespace tessera::tensix
