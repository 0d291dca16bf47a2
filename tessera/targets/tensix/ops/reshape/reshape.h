#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <span>

namespace tessera::tensix {

// The extents of a shape with at most one -1, which stands for what `volume` leaves over.
TSR_API Shape resolve_shape(std::span<const std::int64_t> dims, std::int64_t volume);

// The same elements in row-major order under another shape of the same volume. Where the pages stay what they are (the
// last dimension is kept, and rows do not cross tiles) the result shares the memory of x; otherwise it is a copy, in
// the place of x or in `config`.
TSR_API DeviceTensor reshape(const DeviceTensor& x, const Shape& shape,
                             const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
