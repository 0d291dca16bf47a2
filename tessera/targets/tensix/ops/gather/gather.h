#pragma once

// Elements picked by indices, and put where indices say.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>

namespace tessera::tensix {

// y[..., i, ...] = x[..., index[..., i, ...], ...] along `dim`: as large as the index, which reaches no further than x
// in all other dimensions. Index uint16 or uint32, in the layout of x.
TSR_API DeviceTensor gather(const DeviceTensor& x, int dim, const DeviceTensor& index,
                            const std::optional<MemoryConfig>& config = std::nullopt,
                            const std::optional<DeviceTensor>& output = std::nullopt);
// Rows of matrices: x [n, k, c] by index [n, w] to [n, w, c].
TSR_API DeviceTensor tosa_gather(const DeviceTensor& x, const DeviceTensor& index,
                                 const std::optional<MemoryConfig>& config = std::nullopt);

// What becomes of an element that a source element goes to.
enum class ScatterRule : std::uint8_t { replace, add, multiply, least, largest };

// x with source elements at index[...] along `dim`, one after the other in row-major order of the index.
TSR_API DeviceTensor scatter(const DeviceTensor& x, int dim, const DeviceTensor& index, const DeviceTensor& source,
                             ScatterRule rule = ScatterRule::replace,
                             const std::optional<MemoryConfig>& config = std::nullopt);
// Rows of matrices: source [n, w, c] into x [n, k, c] at index [n, w].
TSR_API DeviceTensor tosa_scatter(const DeviceTensor& x, const DeviceTensor& index, const DeviceTensor& source,
                                  const std::optional<MemoryConfig>& config = std::nullopt);

// x with all slices along `dim` that a row of indices names full of one number.
TSR_API DeviceTensor index_fill(const DeviceTensor& x, int dim, const DeviceTensor& index, double value,
                                const std::optional<MemoryConfig>& config = std::nullopt);
// a with slice ids[i] along `dim` replaced by slice i of b.
TSR_API DeviceTensor indexed_fill(const DeviceTensor& ids, const DeviceTensor& a, const DeviceTensor& b, int dim = 0,
                                  const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
