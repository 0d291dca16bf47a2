#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <span>
#include <utility>

namespace tessera::tensix {

// `padding` gives the elements added before and after each of the last dimensions; `value` fills them. TILE layout can
// only grow at the end. A height-sharded tensor may get wider; any other growth must fit the shards that it has.
TSR_API DeviceTensor pad(const DeviceTensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> padding,
                         float value, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
