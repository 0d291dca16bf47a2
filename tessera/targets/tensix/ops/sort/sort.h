#pragma once

// Elements in order along a dimension, and those that come first.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <utility>

namespace tessera::tensix {

using ValuesAndIndices = std::pair<DeviceTensor, DeviceTensor>;

// All along `dim`, and where each was. Equal elements keep their order. Indices are uint16, or uint32 for float32 and
// uint16 and for dimensions that uint16 cannot count.
TSR_API ValuesAndIndices sort(const DeviceTensor& x, int dim = -1, bool descending = false,
                              const std::optional<MemoryConfig>& config = std::nullopt,
                              const std::optional<ValuesAndIndices>& outputs = std::nullopt);

struct TopkOptions {
  bool largest = true;
  bool sorted = true;  // they are in order either way
  std::optional<MemoryConfig> memory_config = {};
  std::optional<CoreRangeSet> cores = {};    // that work on it; default: all
  std::optional<DeviceTensor> indices = {};  // what the indices are called instead of 0, 1, ...
  std::optional<ValuesAndIndices> outputs = {};
};

// The k largest, or smallest, along `dim`, and where each was.
TSR_API ValuesAndIndices topk(const DeviceTensor& x, std::int64_t k, int dim, const TopkOptions& options = {});

// How many elements of a tensor of rank 4 are not 0 ([1, 1, 1, 8], in front), and the four coordinates of each of them
// in row-major order ([1, 1, 1, 4 elements]); both uint32 in ROW_MAJOR.
TSR_API ValuesAndIndices nonzero(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
