#pragma once

// Where the result of an operator goes when nobody, or a wish without shards, says so; and the check that the buffers
// of its program fit beside the tensors that are in L1.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/device_tensor.h"

#include <optional>
#include <vector>

namespace tessera::tensix {

// All cores of a card, and the first `count` of them row by row or column by column.
TSR_API CoreRangeSet all_cores(const Device& device);
TSR_API CoreRangeSet first_cores(std::int64_t count, CoreGrid grid, bool row_wise = true);

// A sharded wish without shards: the result is cut over as many cores of the grid as it takes, in tiles or rows.
TSR_API MemoryConfig shards_for(TensorMemoryLayout layout, BufferType buffer, const TensorSpec& result, CoreGrid grid);

// `wish` as an operator on `x` understands it: shards left open are those of x, or else shards_for().
TSR_API MemoryConfig placement_like(const std::optional<MemoryConfig>& wish, const TensorSpec& x, CoreGrid grid);

// Refuses a program whose buffers grow beyond L1 or into a tensor. Buffers of 0 B, which lie inside tensors, are
// skipped.
TSR_API void check_program_fits(const Device& device, const std::vector<CircularBuffer>& buffers);

// Bytes of one tile of `dtype` in the default 32x32 tile.
TSR_API std::int64_t tile_bytes(DType dtype);

// Bytes of L1 on a core between the start of circular buffers and the lowest tensor.
TSR_API std::int64_t free_l1_bytes(const Device& device);

}  // namespace tessera::tensix
