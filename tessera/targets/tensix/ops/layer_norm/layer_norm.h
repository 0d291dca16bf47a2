#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>

namespace tessera::tensix {

// Which statistics of a row scale it: mean and variance, or the root of the mean square.
enum class RowNorm { layer, rms };

// How a core works on its shard, in tiles: TTNN's LayerNormShardedMultiCoreProgramConfig.
struct NormBlocks {
  CoreGrid grid = {1, 1};
  std::int64_t subblock_w = 1, block_h = 1, block_w = 1;
  bool in_place = false;
};

struct LayerNormOptions {
  float epsilon = 1e-12f;
  std::optional<DeviceTensor> weight = {}, bias = {};  // one value for each column
  std::optional<DeviceTensor> residual = {};           // added to x first
  std::optional<MemoryConfig> memory_config = {};      // default: that of x
  std::optional<ComputeConfig> compute = {};
  std::optional<NormBlocks> blocks = {};  // of shards
};

// (x - mean) / sqrt(variance + epsilon) * weight + bias along the last dimension, or x / sqrt(mean of squares +
// epsilon) * weight + bias. Tensors in TILE layout.
TSR_API DeviceTensor layer_norm(RowNorm norm, const DeviceTensor& x, const LayerNormOptions& options = {});

}  // namespace tessera::tensix
