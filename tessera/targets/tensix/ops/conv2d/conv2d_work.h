#pragma once

// What a convolution does, from its plan: pure functions.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/halo/halo_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

#include <vector>

namespace tessera::tensix {

// The loops of a convolution on one core. Sizes in tiles unless said otherwise.
struct Conv2dLoops {
  std::int64_t cores = 0;
  std::int64_t rows = 0;                       // output rows (elements) of a core
  std::int64_t out_h = 0, out_w = 0;           // of a core
  std::int64_t block_h = 0, block_w = 0;       // of activations
  std::int64_t inner_blocks = 0;               // along the reduction
  std::int64_t senders = 1;                    // cores that share one reduction and send each other their part
  std::int64_t row_reads = 0, read_bytes = 0;  // pieces that one row of a core's windows is read in
  DType tiles = DType::bfloat16;               // of tilized activations
  DType weights = DType::bfloat16;
  DType input = DType::bfloat16;
  bool weights_stay = false;  // read once, however many blocks of rows
  bool row_major_output = false;
  ComputeConfig compute;
  bool activations_double_buffered = false, weights_double_buffered = false;
};

TSR_API Conv2dLoops loops_of(const Conv2dPlan& plan);
TSR_API ProgramWork conv2d_work(const Conv2dLoops& loops);
// A convolution, or the product that it runs as.
TSR_API ProgramWork conv2d_work(const Conv2dPlan& plan);

// Every program that it takes, in their order: bringing the input to its shards, the halo and what it moves, the
// convolution or the product.
TSR_API std::vector<ProgramWork> conv2d_programs(const Conv2dPlan& plan);

// The product that a convolution over an interleaved input runs as.
MatmulProblem interleaved_product(const Conv2dPlan& plan, const TensixSpec& card);

// The shard that a convolution gathers its halo from, which by then has this layout.
HaloShard halo_shard_of(const Conv2dPlan& plan, Layout layout);

}  // namespace tessera::tensix
