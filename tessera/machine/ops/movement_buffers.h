#pragma once

// The circular buffers that programs which move tensors or change their layout have of their own, on each of their
// cores; what they keep in the memory of their tensors is not among them. The rules are those that TTNN's answers show
// (tests/data/ttnn/movement_buffers_*.jsonl). `x` is what is read, `y` what is written.

#include "tessera/core/export.h"
#include "tessera/machine/circular_buffers.h"
#include "tessera/machine/machine.h"
#include "tessera/machine/tensor_spec.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

TSR_API std::vector<CircularBuffer> tilize_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
TSR_API std::vector<CircularBuffer> untilize_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
// Between interleaved tensors, or from shards to others.
TSR_API std::vector<CircularBuffer> move_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
TSR_API std::vector<CircularBuffer> concat_buffers(std::span<const TensorSpec> parts, const TensorSpec& y,
                                                   const TensixSpec& card);
// `begin`: the first column that is kept.
TSR_API std::vector<CircularBuffer> slice_buffers(const TensorSpec& x, const TensorSpec& y, std::int64_t begin,
                                                  const TensixSpec& card);
TSR_API std::vector<CircularBuffer> typecast_buffers(const TensorSpec& x, const TensorSpec& y, const TensixSpec& card);
// Pixels that are repeated.
TSR_API std::vector<CircularBuffer> repeat_buffers(const TensorSpec& x, const TensixSpec& card);

// Where shards of tiles go when they become rows: those of whole rows or columns lose the padding of that side.
TSR_API MemoryConfig untilized_place(const TensorSpec& x);

}  // namespace tessera
