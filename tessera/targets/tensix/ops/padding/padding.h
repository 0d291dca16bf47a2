#pragma once

// What lies between a tensor's own extents and whole tiles.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// x with a number in the padding of its tiles; x itself where there is none.
TSR_API DeviceTensor fill_padding(const DeviceTensor& x, double value,
                                  const std::optional<MemoryConfig>& config = std::nullopt);

// Rows of x, padding included, up to an element (inclusive) in each dimension; block floats become bfloat16.
TSR_API DeviceTensor untilize_with_unpadding(const DeviceTensor& x, const Shape& last,
                                             const std::optional<MemoryConfig>& config = std::nullopt);

// Tiles that make up `padded`, a number in what x does not fill.
TSR_API DeviceTensor tilize_with_padding(const DeviceTensor& x, const Shape& padded, double value,
                                         const std::optional<MemoryConfig>& config = std::nullopt,
                                         std::optional<DType> dtype = std::nullopt);

}  // namespace tessera::tensix
