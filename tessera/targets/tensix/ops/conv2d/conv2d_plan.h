#pragma once

// How a convolution runs on a card, worked out from its shape alone: which cores, which shards, which blocks, and every
// circular buffer. No device is touched; sizes are exact, addresses come when it runs.

#include "tessera/core/export.h"
#include "tessera/core/refusal.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/core_grid.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_problem.h"

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

struct TSR_API Conv2dPlan {
  // What is really run: after kernel-stride folding (kernel, stride, channels and image change), with the shard layout
  // that was chosen and the double buffers that activation reuse switches off.
  Conv2dProblem problem;
  bool folded = false;        // kernel-stride folding comes first: the input is folded in DRAM or where it is sharded
  bool auto_sharded = false;  // the layout was left open
  bool as_matmul = false;     // 1x1, stride 1, no padding: no halo, no im2col
  // A product of an input that stays interleaved: as_matmul with the layout left open. The output is interleaved too
  // and the shards below are only what was weighed.
  bool interleaved = false;
  bool depthwise_1d = false;
  bool moves_input = false;  // the input is not where `input` wants it: it is sharded or resharded first
  bool has_halo = false;     // false: a product, or width shards of a row-major input without padding
  Parallel input, output;
  Extent2d input_shard, output_shard;  // elements
  std::int64_t in_channels_padded = 0, out_channels_padded = 0;
  Extent2d weight_matrix;  // elements, as prepared: rows of the reduction x output channels
  // In tiles.
  std::int64_t act_block_h = 0, act_block_w = 0, weight_block_w = 0, out_subblock_h = 0, out_subblock_w = 0;
  std::int64_t act_height_blocks = 0, inner_blocks = 0;  // blocks of rows on a core, and along the reduction
  bool split_reader = false;
  bool packer_l1_acc = false;  // asked for and of use
  DType partials_dtype = DType::bfloat16;
  std::vector<PlannedBuffer>
      circular_buffers;  // in the order in which the program makes them; those inside tensors left out
  std::int64_t circular_buffer_bytes() const;
  MemoryConfig input_memory() const;  // of the shards that the halo (or the product) reads
  MemoryConfig output_memory() const;
};

// What a layout would take on a core, by which it is chosen when the configuration leaves it open.
struct Conv2dFootprint {
  std::int64_t cores = 0;
  std::int64_t circular_buffer_bytes = 0, output_bytes = 0, halo_bytes = 0;
  std::int64_t total_bytes() const { return circular_buffer_bytes + output_bytes + halo_bytes; }
};

// The plan without its program: cores, shards, blocks and weights. What the real one has decided, and has begun to
// allocate for, when it comes to build a program that it may still refuse.
TSR_API Conv2dPlan outline_conv2d(const Conv2dProblem& problem, const TensixSpec& card);

// Refuses what no card runs, before any memory is asked for.
TSR_API Conv2dPlan plan_conv2d(const Conv2dProblem& problem, const TensixSpec& card);

// The same for those who ask about many: what cannot be is an answer.
TSR_API Result<Conv2dPlan> try_outline_conv2d(const Conv2dProblem& problem, const TensixSpec& card);
TSR_API Result<Conv2dPlan> try_plan_conv2d(const Conv2dProblem& problem, const TensixSpec& card);

}  // namespace tessera::tensix
