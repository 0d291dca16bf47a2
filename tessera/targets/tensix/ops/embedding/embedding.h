#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// Row i of `weights` for every i of `indices` (uint32, or bfloat16 holding whole numbers), along a new last dimension.
// In `layout` (default: that of the indices).
TSR_API DeviceTensor embedding(const DeviceTensor& indices, const DeviceTensor& weights, std::optional<Layout> layout,
                               const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
