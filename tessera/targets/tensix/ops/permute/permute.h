#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::tensix {

// Dimension i of the result is dimension order[i] of x; negative ones count from the end. Layout, dtype and memory
// stay, or the result goes to `config`. Interleaved tensors only: TTNN turns some shards as well, which is not
// modelled.
TSR_API DeviceTensor permute(const DeviceTensor& x, std::span<const std::int64_t> order,
                             const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
