#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>
#include <vector>

namespace tessera::tensix {

// Values joined along their channels or their rows.
struct ConcatLayer {
  bool channels = true;     // else rows
  std::int64_t groups = 1;  // of channels: the first groups of all come first (batch_groups.h)
  std::int64_t blocks = 1;  // of rows: each block of the result is one of every part
  // Parts that are known, as matrices in rows; null: the next operand.
  std::vector<Constant> parts = {};

  bool joins_in_place() const { return channels && parts.empty(); }

  const CardOp* op() const;
};

}  // namespace tessera::tensix
