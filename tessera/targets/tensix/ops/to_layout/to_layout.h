#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// Tilize or untilize. The tensor itself comes back when it has the layout already. On the way into tiles the dtype may
// change; out of them it stays, but for bfloat8_b, which becomes bfloat16. The result lies where the input does unless
// `config` says otherwise.
TSR_API DeviceTensor to_layout(const DeviceTensor& x, Layout layout, std::optional<DType> dtype = std::nullopt,
                               const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
