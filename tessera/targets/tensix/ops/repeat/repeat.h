#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::tensix {

// The whole tensor so many times along each dimension, the last count being that of the last dimension. A program for
// each dimension that repeats. Tiles that are padded go through ROW_MAJOR copies.
TSR_API DeviceTensor repeat(const DeviceTensor& x, std::span<const std::int64_t> counts,
                            const std::optional<MemoryConfig>& config = std::nullopt);

// Every slice of one dimension so many times, one after the other.
TSR_API DeviceTensor repeat_interleave(const DeviceTensor& x, std::int64_t count, int dim,
                                       const std::optional<MemoryConfig>& config = std::nullopt);

// Dimensions of extent 1 repeated to the extents of `shape`; -1 leaves one as it is.
TSR_API DeviceTensor expand(const DeviceTensor& x, std::span<const std::int64_t> shape,
                            const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
