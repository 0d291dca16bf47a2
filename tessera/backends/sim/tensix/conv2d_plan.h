#pragma once

// How a convolution runs on a card, worked out from its shape alone: which cores, which shards, which blocks, and every
// circular buffer. No device is touched; sizes are exact, addresses come when it runs.

#include "tessera/backends/sim/tensix/conv2d_problem.h"
#include "tessera/core/export.h"
#include "tessera/machine/core_grid.h"
#include "tessera/machine/machine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tensix {

// How rows (batch x height x width) and channels of a tensor are dealt to cores.
struct Parallel {
  TensorMemoryLayout layout = TensorMemoryLayout::height_sharded;
  CoreRangeSet cores;
  ShardOrientation orientation = ShardOrientation::row_major;
  std::int64_t row_parts = 1;      // cores along batch x height x width
  std::int64_t channel_parts = 1;  // cores along channels
  bool operator==(const Parallel&) const = default;
};

struct PlannedBuffer {
  std::string name;  // "weights", "act", "act_tilized", ...
  std::int64_t bytes = 0;
  std::int64_t pages = 0;
  DType dtype = DType::bfloat16;
};

struct Conv2dPlan {
  bool as_matmul = false;  // 1x1, stride 1, no padding: no halo, no im2col
  Parallel input, output;
  Extent2d input_shard, output_shard;  // elements
  std::int64_t in_channels_padded = 0, out_channels_padded = 0;
  // In tiles.
  std::int64_t act_block_h = 0, act_block_w = 0, weight_block_w = 0, out_subblock_h = 0, out_subblock_w = 0;
  std::int64_t act_height_blocks = 0, inner_blocks = 0;  // blocks of rows on a core, and along the reduction
  bool split_reader = false;
  bool packer_l1_acc = false;  // asked for and of use
  DType partials_dtype = DType::bfloat16;
  std::vector<PlannedBuffer>
      circular_buffers;  // in the order in which the program makes them; those inside tensors left out
  std::int64_t circular_buffer_bytes() const;
};

// Refuses what no card runs, before any memory is asked for.
TSR_API Conv2dPlan plan_conv2d(const Conv2dProblem& problem, const TensixSpec& card);

}  // namespace tessera::tensix
