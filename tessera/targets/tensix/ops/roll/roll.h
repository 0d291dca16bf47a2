#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::tensix {

// Elements moved by so many places along each of some dimensions, those that leave at the end coming in at the front.
// Without dimensions: all elements as one row, which takes one shift.
TSR_API DeviceTensor roll(const DeviceTensor& x, std::span<const std::int64_t> shifts, std::span<const int> dims,
                          const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
