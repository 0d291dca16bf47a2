#pragma once

// The circular buffers that programs which move tensors or change their layout have of their own, on each of their
// cores; what they keep in the memory of their tensors is not among them. The rules are those that TTNN's answers show
// (tests/data/ttnn/movement_buffers_*.json). `x` is what is read, `y` what is written.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/circular_buffers.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::tensix {

TSR_API std::vector<CircularBuffer> tilize_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
TSR_API std::vector<CircularBuffer> untilize_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
// Between interleaved tensors, from shards to others, or to and from shards whose rows are of odd length.
TSR_API std::vector<CircularBuffer> move_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
TSR_API std::vector<CircularBuffer> concat_buffers(std::span<const TensorSpec> parts, const TensorSpec& y,
                                                   const TensixSpec& card);
// `begin`: the first column that is kept.
TSR_API std::vector<CircularBuffer> slice_buffers(const TensorSpec& x, const TensorSpec& y, std::int64_t begin,
                                                  const TensixSpec& card);
TSR_API std::vector<CircularBuffer> typecast_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
// Pixels that are repeated.
TSR_API std::vector<CircularBuffer> repeat_buffers(const TensorSpec& x, const TensixSpec& card);

// Matrices of one row each that become the rows of one, all in tiles.
TSR_API std::vector<CircularBuffer> gather_rows_buffers(const TensorSpec& x, const TensorSpec& y,
                                                        const TensixSpec& card);
// Rows in shards that are filled up to whole tiles.
TSR_API std::vector<CircularBuffer> fill_rows_buffers(const TensorSpec& x);
// Tiles that are not full, filled up where they lie.
TSR_API std::vector<CircularBuffer> fill_padding_buffers(const TensorSpec& x, const TensixSpec& card);

// Where shards of tiles go when they become rows: those of whole rows or columns lose the padding of that side.
TSR_API MemoryConfig untilized_place(const TensorSpec& x);

}  // namespace tessera::tensix
