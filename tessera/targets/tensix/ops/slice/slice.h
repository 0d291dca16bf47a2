#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <span>

namespace tessera::tensix {

// Elements begin, begin + step, ... below end of every dimension. All three have one entry per dimension; negative
// begins and ends count from the end. A slice of everything is the tensor itself; an empty one takes no memory. A
// sharded tensor keeps its kind of sharding and its cores, unless `config` says otherwise. In TILE layout a box of
// whole tiles is cut out directly; anything else goes through ROW_MAJOR copies, which take memory while it runs.
TSR_API DeviceTensor slice(const DeviceTensor& x, std::span<const std::int64_t> begins,
                           std::span<const std::int64_t> ends, std::span<const std::int64_t> steps,
                           const std::optional<MemoryConfig>& config = std::nullopt);

// Writes x over every `steps`-th element of y from `begins` to `ends`, and gives y.
TSR_API DeviceTensor slice_write(const DeviceTensor& x, const DeviceTensor& y, std::span<const std::int64_t> begins,
                                 std::span<const std::int64_t> ends, std::span<const std::int64_t> steps);

}  // namespace tessera::tensix
