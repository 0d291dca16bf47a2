#pragma once

// The step before a convolution or pool: every core gathers the rows that its windows reach, padding included, from
// itself and from its neighbours. What that takes is worked out here from shapes alone: sticks (one pixel's channels)
// per core, and the lists that tell each core what to copy where.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::tensix {

// An image under a window. Zeros between pixels are those of a transposed convolution.
struct HaloProblem {
  std::int64_t batch = 1, height = 0, width = 0;
  SlidingWindow window;
  std::int64_t spread_h = 1, spread_w = 1;  // pixels lie this far apart: 1 is an ordinary image

  std::int64_t spread_height() const { return (height - 1) * spread_h + 1; }
  std::int64_t spread_width() const { return (width - 1) * spread_w + 1; }
  std::int64_t padded_h() const { return spread_height() + window.top + window.bottom; }
  std::int64_t padded_w() const { return spread_width() + window.left + window.right; }
  std::int64_t out_h() const { return window.out_h(spread_height()); }
  std::int64_t out_w() const { return window.out_w(spread_width()); }
  std::int64_t out_rows() const { return batch * out_h() * out_w(); }
  // Where the window of an output row starts in the padded image, counted in sticks.
  std::int64_t start_of(std::int64_t out_row) const;
  std::int64_t reach() const;  // from the first stick of a window to its last
};

struct HaloPlan {
  std::int64_t stick_bytes = 0;  // of the output: bfloat16, or float32 for a float32 input
  std::int64_t out_sticks = 0;   // per core: the most that one needs
  DType out_dtype = DType::bfloat16;
  // Two lists of padding and two of moves, one for each of the processors that carry them out: bytes on every core.
  std::array<std::int64_t, 4> config_bytes{};
  std::vector<PlannedBuffer> circular_buffers;
  // What moves, over all cores, in sticks and pieces.
  std::int64_t local_sticks = 0, remote_sticks = 0, padding_sticks = 0, pieces = 0;
  std::int64_t busiest_core_sticks = 0;  // received, padding left out
  // Of the core with most to do, sticks to and from other cores counted, and its pieces.
  std::int64_t busiest_pieces = 0, busiest_remote_sticks = 0, busiest_local_sticks = 0, busiest_padding_sticks = 0;

  std::int64_t out_bytes_per_core() const { return out_sticks * stick_bytes; }
};

// `input_shard` is what a core holds and `out_rows_per_core` what it will compute; a tiled input is untilized on the
// way.
TSR_API HaloPlan plan_halo(const HaloProblem& problem, const Parallel& input, Extent2d input_shard,
                           std::int64_t out_rows_per_core, DType input_dtype, Layout input_layout);

// The list by which the reader of a convolution finds its windows: bytes on every core. Rows of a block follow each
// other in runs; a split reader deals each block to two processors. In rows: `rows_per_core`, and `block_rows` of one
// block.
TSR_API std::int64_t reader_indices_bytes(const HaloProblem& problem, std::int64_t rows_per_core,
                                          std::int64_t block_rows, bool split_reader);

}  // namespace tessera::tensix
