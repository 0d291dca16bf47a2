#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>

namespace tessera::tensix {

// Values joined along their channels or their rows.
struct ConcatLayer {
  bool channels = true;     // else rows
  std::int64_t groups = 1;  // of channels: the first groups of all come first (batch_groups.h)

  const CardOp* op() const;
};

}  // namespace tessera::tensix
