#pragma once

// How a pool over images runs on a card: which cores, which shards, what its halo and its program take. No device is
// touched.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <optional>

namespace tessera::tensix {

enum class PoolKind : std::uint8_t { max, average };

struct PoolProblem {
  PoolKind kind = PoolKind::max;
  std::int64_t batch = 1, height = 0, width = 0, channels = 0;
  SlidingWindow window = {};  // padding as given; ceil_mode adds to the bottom and right of it
  bool ceil_mode = false;
  bool count_include_pad = true;
  bool divisor_override = false;
  DType input_dtype = DType::bfloat16, output_dtype = DType::bfloat16;
  Layout input_layout = Layout::row_major, output_layout = Layout::row_major;
  std::optional<ShardSpec> input_shard = {};  // of an input that is sharded in L1
  TensorMemoryLayout layout = TensorMemoryLayout::height_sharded;
  bool whole_tiles = false;  // shards of channels are whole tiles wide, not half ones
  CoreGrid grid = {};
  std::optional<DType> indices = {};  // of maxima: their dtype
  bool rows_of_tiles = false;         // rows that come out of tiles: shards of the input are whole tiles high

  std::int64_t in_rows() const { return batch * height * width; }
};

struct TSR_API PoolPlan {
  HaloProblem window;  // with what ceil_mode adds
  Parallel parallel;
  Extent2d input_shard, output_shard;  // elements
  HaloPlan halo;
  std::int64_t reader_bytes = 0;  // the list of windows, in L1_SMALL
  std::vector<PlannedBuffer> buffers;

  MemoryConfig input_memory() const;
  MemoryConfig output_memory() const;
};

// The window with the rows and columns that ceil_mode adds behind the padding.
TSR_API SlidingWindow rounded_window(const PoolProblem& problem);

TSR_API PoolPlan plan_pool(const PoolProblem& problem);

// Of the three kinds of shards the one whose program takes least L1 as TTNN estimates it: output and buffers, with
// rows (and the channels of blocks) in whole tiles, and without the halo.
TSR_API PoolPlan plan_pool_anywhere(PoolProblem problem);

}  // namespace tessera::tensix
