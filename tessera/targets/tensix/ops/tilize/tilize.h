#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// to_layout by the names of its two operations, each for inputs of one layout only. tilize does not pad: both extents
// must be whole tiles.
TSR_API DeviceTensor tilize(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt,
                            std::optional<DType> dtype = std::nullopt);
TSR_API DeviceTensor untilize(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
