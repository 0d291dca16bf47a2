#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>

namespace tessera::tensix {

// Some channels of a value.
struct SliceLayer {
  std::int64_t begin = 0, end = 0;  // channels

  const CardOp* op() const;
};

}  // namespace tessera::tensix
