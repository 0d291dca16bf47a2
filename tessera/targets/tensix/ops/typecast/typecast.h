#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// A new tensor of another dtype, converted as the card's packer does it (Rounding::packer), in the same place or in a
// `config` of the same memory layout.
TSR_API DeviceTensor typecast(const DeviceTensor& x, DType dtype,
                              const std::optional<MemoryConfig>& config = std::nullopt);

// The same bits as elements of another dtype of the same size.
TSR_API DeviceTensor bitcast(const DeviceTensor& x, DType dtype,
                             const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
