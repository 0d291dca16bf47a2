#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"

#include <cstdint>

namespace tessera::tensix {

// Larger images.
struct UpsampleLayer {
  std::int64_t batch = 1, height = 0, width = 0, channels = 0, scale_h = 1, scale_w = 1;
  UpsampleMode mode = UpsampleMode::nearest;

  const CardOp* op() const;
};

}  // namespace tessera::tensix
