#pragma once

// Between the two orders of an image's elements: channels first, as cameras and files have them, and channels last, as
// convolutions want them. TTNN wants shards, few channels and whole tiles; images that are interleaved are converted
// here too, of any size, and stay where they are.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// [1, b, c, hw] in ROW_MAJOR, width-sharded, to [1, 1, b hw, c] height-sharded on the same cores; c is filled up with
// zeros to a multiple of 8, the 16 bytes that a transfer wants. An input in DRAM needs a config.
TSR_API DeviceTensor convert_to_hwc(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt,
                                    std::optional<DType> dtype = std::nullopt);

// [1, 1, hw, c] height-sharded to [1, 1, c, hw] in ROW_MAJOR, width-sharded on the same cores.
TSR_API DeviceTensor convert_to_chw(const DeviceTensor& x, std::optional<DType> dtype = std::nullopt);

}  // namespace tessera::tensix
