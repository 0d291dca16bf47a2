#pragma once

// Softmax along rows of scores that are scaled and masked first, in a new tensor or over the scores themselves.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::tensix {

// How a core works on its shard, in tiles: TTNN's SoftmaxShardedMultiCoreProgramConfig.
struct SoftmaxBlocks {
  CoreGrid grid = {1, 1};
  std::int64_t subblock_w = 1, block_h = 1, block_w = 1;
  bool operator==(const SoftmaxBlocks&) const = default;
};

struct MaskedSoftmaxOptions {
  std::optional<float> scale = {};        // times the scores; needs a mask
  std::optional<DeviceTensor> mask = {};  // added to them: a row for each batch, or with `causal` a matrix
  bool causal = false;
  bool in_place = false;
  std::optional<SoftmaxBlocks> blocks = {};  // of shards; the result is written in place
  std::optional<MemoryConfig> memory_config = {};
  std::optional<ComputeConfig> compute = {};
};

TSR_API DeviceTensor masked_softmax(std::string_view op, const DeviceTensor& x, const MaskedSoftmaxOptions& options);

}  // namespace tessera::tensix
