#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <span>

namespace tessera::tensix {

// Tensors of one dtype on one device, equal in all dimensions but `dim`, one after the other along it. The result is
// interleaved in DRAM unless `config` says otherwise; a single tensor comes back as it is, or moved to `config`.
// Tensors whose tiles are padded along `dim` go through ROW_MAJOR copies, which take memory while it runs.
// With `groups` every tensor is cut into so many equal parts along `dim`, and the first parts of all come first.
TSR_API DeviceTensor concat(std::span<const DeviceTensor> inputs, int dim,
                            const std::optional<MemoryConfig>& config = std::nullopt, int groups = 1);

}  // namespace tessera::tensix
