#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// Frees x and allocates it anew, so that it may slide into a hole, also one that it overlaps: what undoes
// fragmentation. A sharded tensor keeps its shards; `config` may change the memory and the kind of sharding. x is gone
// afterwards; if the move is refused, x stays as it is. A tensor that shares its memory with another one stays where it
// is and comes back.
TSR_API DeviceTensor move(DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
