#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>

namespace tessera::tensix {

struct GroupNormOptions {
  std::int64_t groups = 1;
  float epsilon = 1e-12F;
  // Rows of channels in ROW_MAJOR as [1, 1, n, 32]: the channels of each of several cores, each padded to whole tiles.
  std::optional<DeviceTensor> weight = {}, bias = {};
  std::optional<DeviceTensor> mask = {};  // which columns of a tile belong to a group: [1, groups, 32, columns]
  std::optional<MemoryConfig> memory_config = {};
  std::optional<DType> dtype = {};  // that of x
  std::optional<CoreGrid> grid = {};
  bool in_place = false;
  std::optional<Layout> layout = {};  // of the result; default: that of x
  std::int64_t out_blocks = 1;        // pieces that a core's rows are worked on in
  std::optional<ComputeConfig> compute = {};
};

// x [n, 1, pixels, channels]: each group of channels of an image less its mean, over its deviation.
TSR_API DeviceTensor group_norm(const DeviceTensor& x, const GroupNormOptions& options);

}  // namespace tessera::tensix
