#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

namespace tessera::tensix {

// Where the result of an operation lies that keeps its input's kind and grid of sharding but not its shape: the split
// extents are divided anew over the same cores. An interleaved input gives its own memory config.
TSR_API MemoryConfig inherited_placement(const TensorSpec& from, const Shape& shape);

}  // namespace tessera::tensix
