#pragma once

// A tensor of a plan: what it is and where.

#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"
#include "tessera/targets/tensix/card/memory_config.h"

namespace tessera::tensix {

struct Placement {
  Shape shape;  // on the card: 1 x 1 x rows x channels
  DType dtype = DType::bfloat16;
  Layout layout = Layout::tile;
  MemoryConfig memory;
};

}  // namespace tessera::tensix
