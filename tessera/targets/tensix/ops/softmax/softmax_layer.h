#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

namespace tessera::tensix {

// A softmax over channels.
struct SoftmaxLayer {
  const CardOp* op() const;
};

}  // namespace tessera::tensix
