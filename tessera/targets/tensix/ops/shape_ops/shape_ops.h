#pragma once

// Operators on shapes that are made of others: of permute, reshape, slice and concat. They have no programs of their
// own.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::tensix {

// Swaps two dimensions; negative ones count from the end.
TSR_API DeviceTensor transpose(const DeviceTensor& x, int dim0, int dim1,
                               const std::optional<MemoryConfig>& config = std::nullopt);

// Drops those of `dims` that have extent 1; without any, all of extent 1.
TSR_API DeviceTensor squeeze(const DeviceTensor& x, const std::optional<std::vector<int>>& dims = std::nullopt);
// A dimension of extent 1 before dimension `dim`; -1: behind the last.
TSR_API DeviceTensor unsqueeze(const DeviceTensor& x, int dim);
// Dimensions of extent 1 in front, until there are `rank`.
TSR_API DeviceTensor unsqueeze_to(const DeviceTensor& x, int rank);

// Pieces along a dimension: of the given sizes, which make it up exactly; of one size, the last one smaller; or so many
// of equal size, fewer where they do not fill the dimension.
TSR_API std::vector<DeviceTensor> split(const DeviceTensor& x, std::span<const std::int64_t> sizes, int dim = 0,
                                        const std::optional<MemoryConfig>& config = std::nullopt);
TSR_API std::vector<DeviceTensor> split(const DeviceTensor& x, std::int64_t size, int dim = 0,
                                        const std::optional<MemoryConfig>& config = std::nullopt);
TSR_API std::vector<DeviceTensor> chunk(const DeviceTensor& x, std::int64_t count, int dim = 0);

// Tensors of one shape along a new dimension.
TSR_API DeviceTensor stack(std::span<const DeviceTensor> inputs, int dim);

// A dimension as people count it, from 0 or from the end, as it is counted in `rank` dimensions.
TSR_API int checked_dim(std::string_view op, int dim, int rank);

}  // namespace tessera::tensix
