#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/pool/pool_values.h"

namespace tessera::tensix {

// A pool of a network.
struct PoolLayer {
  bool maximum = true;
  PoolValues pool;

  const CardOp* op() const;
};

}  // namespace tessera::tensix
