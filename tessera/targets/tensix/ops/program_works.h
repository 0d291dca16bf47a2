#pragma once

// What each operator does, from its plan: pure functions, one file each (<op>_work.cpp).

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/halo/halo.h"
#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

#include <span>
#include <string_view>
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
TSR_API ProgramWork matmul_work(const MatmulProblem& problem, const MatmulPlan& plan);

// `input_tiles` of a core's shard are untilized on the way; 0: rows already.
struct HaloShard {
  std::int64_t cores = 0, row_cores = 0;  // all, and those along the rows, which send each other sticks
  std::int64_t tiles = 0, tile_rows = 0;
  bool lists_in_dram = false;
};
TSR_API ProgramWork halo_work(const HaloPlan& plan, const HaloShard& shard);
// Of the input of a convolution, which by then has this layout.
HaloShard halo_shard_of(const Conv2dPlan& plan, Layout layout);
// What a halo has gathered goes to another place of its cores' L1.
ProgramWork moved_halo_work(const HaloPlan& plan, std::int64_t cores);

struct PoolLoops {
  std::int64_t cores = 0;
  std::int64_t rows = 0;           // output rows of a core
  std::int64_t channel_tiles = 0;  // of a core
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stick_bytes = 0;
  bool average = false;
};
TSR_API ProgramWork pool_work(const PoolLoops& loops);

// Operators that walk over whole tensors: moves, conversions of layout and type, element-wise ones. `op` is TTNN's
// name; the result is the last operand. `cores`: 0 where the tensors say which.
TSR_API ProgramWork tensor_work(std::string_view op, std::span<const OperandFacts> operands, std::int64_t cores = 0);

}  // namespace tessera::tensix
