#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>

namespace tessera::tensix {

// Which statistics of a row scale it: mean and variance, or the root of the mean square.
enum class RowNorm { layer, rms };

struct LayerNormOptions {
  float epsilon = 1e-12f;
  std::optional<DeviceTensor> weight = {}, bias = {};  // one value for each column
  std::optional<DeviceTensor> residual = {};           // added to x first
  std::optional<MemoryConfig> memory_config = {};      // default: that of x
  std::optional<ComputeConfig> compute = {};
};

// (x - mean) / sqrt(variance + epsilon) * weight + bias along the last dimension, or x / sqrt(mean of squares +
// epsilon) * weight + bias. Tensors in TILE layout.
TSR_API DeviceTensor layer_norm(RowNorm norm, const DeviceTensor& x, const LayerNormOptions& options = {});

}  // namespace tessera::tensix
