#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <vector>

namespace tessera::tensix {

// exp(x - max) / sum along `dim`; in TILE layout. Rank-4 tensors in ROW_MAJOR are tilized first when dim is the last
// one, others are refused, as TTNN does.
TSR_API DeviceTensor softmax(const DeviceTensor& x, int dim = -1,
                             const std::optional<MemoryConfig>& config = std::nullopt,
                             std::optional<ComputeConfig> compute = std::nullopt);

// The buffers of its program for a tiled x; `free_bytes` of L1 decide whether a row is kept whole.
TSR_API std::vector<CircularBuffer> plan_softmax(const TensorSpec& x, DType out, int dim, CoreGrid grid,
                                                 std::int64_t free_bytes);

}  // namespace tessera::tensix
