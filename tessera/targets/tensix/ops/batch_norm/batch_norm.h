#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

struct BatchNormOptions {
  std::optional<DeviceTensor> mean = {}, variance = {};  // [1, channels, 1, 1]; training moves them
  bool training = false;                                 // by the statistics of x itself
  float epsilon = 1e-5F, momentum = 0.1F;
  std::optional<DeviceTensor> weight = {}, bias = {};  // [1, channels, 1, 1]
  std::optional<DeviceTensor> output = {};
  std::optional<MemoryConfig> memory_config = {};
  std::optional<ComputeConfig> compute = {};
};

// x [n, channels, h, w]: each channel less its mean, over its deviation, times weight plus bias.
TSR_API DeviceTensor batch_norm(const DeviceTensor& x, const BatchNormOptions& options);

}  // namespace tessera::tensix
