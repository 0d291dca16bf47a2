#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// max(x, 0), in the place of the input or in `config`.
TSR_API DeviceTensor relu(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
