#pragma once

// softmax(q k^T scale + mask) v, block after block, so that no matrix of scores is ever written.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <cstdint>
#include <optional>

namespace tessera::tensix {

// TTNN's SDPAProgramConfig.
struct AttentionBlocks {
  CoreGrid grid = {1, 1};
  std::optional<CoreRangeSet> cores = {};  // that work on it, of the grid; default: all of it
  std::int64_t query_rows = 32, key_rows = 32;
  std::optional<bool> approximate_exp = {};
  std::int64_t cores_per_head = 16;
};

struct AttentionOptions {
  std::optional<DeviceTensor> mask = {};    // added to scores: [1 or batch, 1 or heads, rows, columns]
  bool causal = true;                       // a query sees keys up to its own place
  std::optional<float> scale = {};          // default: 1 / sqrt(size)
  std::optional<std::int64_t> window = {};  // how many keys a query sees: those before it, or on both sides of it
  std::optional<MemoryConfig> memory_config = {};
  std::optional<AttentionBlocks> blocks = {};
  std::optional<ComputeConfig> compute = {};
  std::optional<DeviceTensor> sink = {};       // [1, heads, 1, 1]: a score of each head that no value belongs to
  std::optional<DeviceTensor> sequences = {};  // where sequences begin and end: queries see only keys of their own
};

// q [batch, heads, rows, size], k and v [batch, heads that divide those of q, rows, size].
TSR_API DeviceTensor attention(const DeviceTensor& q, const DeviceTensor& k, const DeviceTensor& v,
                               const AttentionOptions& options);

}  // namespace tessera::tensix
