#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>

namespace tessera::tensix {

// Products of matrices that are both computed: so many, below each other in the rows of either operand.
struct ProductLayer {
  std::int64_t count = 1;
  std::int64_t images = 1;  // among which they are dealt out

  const CardOp* op() const;
};

}  // namespace tessera::tensix
