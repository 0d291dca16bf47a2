#pragma once

// Rows of several heads side by side, and heads as matrices of their own.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::tensix {

using QueryKeyValue = std::array<DeviceTensor, 3>;

struct HeadOptions {
  std::int64_t heads = 1;
  std::optional<std::int64_t> kv_heads = {};  // default: as many
  bool transpose_key = true;                  // keys as [batch, heads, size, rows]
  std::optional<MemoryConfig> memory_config = {};
};

// Columns of x [batch, 1, rows, columns]: all heads of the queries, then of the keys, then of the values; keys and
// values of `kv` where there is one. Three tensors [batch, heads, rows, size].
TSR_API QueryKeyValue create_qkv_heads(std::string_view op, const DeviceTensor& x,
                                       const std::optional<DeviceTensor>& kv, const HeadOptions& options);
// The same where heads come in groups: the queries of a group, their key and their value, in block shards.
TSR_API QueryKeyValue create_grouped_qkv_heads(std::string_view op, const DeviceTensor& x,
                                               const std::optional<DeviceTensor>& kv, const HeadOptions& options);
// x [batch, rows, columns] to three tensors with heads, as ttnn.transformer does it.
TSR_API QueryKeyValue split_heads(const DeviceTensor& x, const std::optional<DeviceTensor>& kv,
                                  const HeadOptions& options);

// Columns of x cut into heads of `size` columns: [batch, heads, rows, size].
TSR_API DeviceTensor create_heads(std::string_view op, const DeviceTensor& x, std::int64_t size,
                                  const std::optional<MemoryConfig>& config = std::nullopt);

// [batch, heads, rows, size] to [batch, 1, rows, heads size].
TSR_API DeviceTensor concat_heads(std::string_view op, const DeviceTensor& x,
                                  const std::optional<MemoryConfig>& config = std::nullopt);
// The same to [batch, rows, heads size], of heads that fill tiles.
TSR_API DeviceTensor join_heads(const DeviceTensor& x, const std::optional<MemoryConfig>& config = std::nullopt);

}  // namespace tessera::tensix
