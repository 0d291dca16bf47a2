#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::tensix {
namespace {

double bytes_of(double tiles, DType dtype) { return tiles * static_cast<double>(tile_bytes(Tile{}, dtype)); }

// A product on shards: rows stay where they are and weights come to all of them, or both are sent along rows and
// columns of cores.
ProgramWork product_work(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  MatmulProblem problem;
  problem.m = ceil_div(p.batch * p.out_h() * p.out_w(), kTile);
  problem.k = ceil_div(plan.in_channels_padded, kTile);
  problem.n = ceil_div(plan.out_channels_padded, kTile);
  problem.a_dtype = p.input_dtype;
  problem.b_dtype = p.weights_dtype;
  problem.out_dtype = p.output_dtype;
  problem.compute = p.compute;
  problem.bias = p.has_bias;
  MatmulPlan product;
  product.cores = plan.output.cores;
  MatmulProgramConfig& c = product.program;
  c.per_core_m = ceil_div(plan.output_shard.height, kTile);
  c.per_core_n = ceil_div(plan.output_shard.width, kTile);
  c.kind = plan.input.channel_parts > 1 ? MatmulKind::multicast_2d : MatmulKind::multicast_1d;
  c.multicast_in0 = false;
  c.block_k = std::max<std::int64_t>(problem.k / std::max<std::int64_t>(plan.input.channel_parts, 1), 1);
  if (!plan.interleaved) {
    problem.a_memory = plan.input_memory();
    problem.out_memory = product.output = plan.output_memory();
  }
  return matmul_work(problem, product);
}

}  // namespace

Conv2dLoops loops_of(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  const SlidingWindow& w = p.window;
  const bool height = plan.input.layout == TensorMemoryLayout::height_sharded;
  Conv2dLoops loops;
  loops.cores = std::max(plan.input.cores.num_cores(), plan.output.cores.num_cores());
  loops.rows = plan.output_shard.height;
  loops.out_h = plan.output_shard.height / kTile;
  loops.out_w = plan.output_shard.width / kTile;
  loops.block_h = plan.act_block_h;
  loops.block_w = plan.act_block_w;
  loops.inner_blocks = std::max<std::int64_t>(ceil_div(plan.weight_matrix.height / kTile, plan.act_block_w), 1);
  loops.senders = plan.input.channel_parts;
  const std::int64_t stick_bytes =
      plan.in_channels_padded / plan.input.channel_parts * (p.input_dtype == DType::float32 ? 4 : 2);
  // Taps side by side lie side by side. Activation reuse is priced as if every line were read: the one measured
  // convolution with it takes as long as that.
  loops.row_reads = w.kernel_h * (w.dilation_w == 1 ? 1 : w.kernel_w);
  loops.read_bytes = stick_bytes * (w.dilation_w == 1 ? w.kernel_w : 1);
  loops.tiles = p.output_dtype;
  loops.weights = p.weights_dtype;
  loops.input = p.input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  loops.weights_stay = height;
  loops.row_major_output = p.config.output_layout == Layout::row_major;
  loops.compute = p.compute;
  loops.compute.packer_l1_acc = plan.packer_l1_acc;
  loops.activations_double_buffered = p.config.enable_act_double_buffer;
  loops.weights_double_buffered = p.config.enable_weights_double_buffer;
  return loops;
}

ProgramWork conv2d_work(const Conv2dLoops& l) {
  ProgramWork work;
  work.kind = ProgramKind::conv2d;
  work.cores = l.cores;
  const std::int64_t row_blocks = std::max<std::int64_t>(l.out_h / std::max<std::int64_t>(l.block_h, 1), 1);
  const auto reduction = static_cast<double>(l.inner_blocks * l.block_w);
  const auto results = static_cast<double>(l.out_h * l.out_w);
  work.blocks = static_cast<double>(row_blocks * l.inner_blocks);
  work.matmul_tiles = results * reduction;
  work.phases = phases(l.compute.fidelity);
  work.unpacked_bytes =
      work.matmul_tiles * static_cast<double>(tile_bytes(Tile{}, l.weights) + tile_bytes(Tile{}, l.tiles)) / 2;
  (l.compute.packer_l1_acc ? work.accumulated_tiles : work.partial_tiles) =
      results * static_cast<double>(l.inner_blocks - 1);
  work.tilized_tiles = static_cast<double>(l.out_h) * reduction / static_cast<double>(l.senders);
  work.tilized_from = l.input;
  work.tilized_to = l.tiles;
  work.wide_dest = l.compute.fp32_dest_acc_en;
  (l.row_major_output ? work.untilized_tiles : work.packed_tiles) = results;
  if (l.row_major_output) work.untilized_rows = static_cast<double>(l.out_h);
  work.window_reads = static_cast<double>(l.rows * l.row_reads);
  work.window_bytes = work.window_reads * static_cast<double>(l.read_bytes);
  work.weight_tiles = reduction * static_cast<double>(l.out_w * (l.weights_stay ? 1 : row_blocks));
  work.weight_bytes = bytes_of(work.weight_tiles, l.weights);
  work.weight_blocks = static_cast<double>(l.inner_blocks * (l.weights_stay ? 1 : row_blocks));
  work.weight_receivers = std::max<std::int64_t>(l.cores / std::max<std::int64_t>(l.senders, 1), 1);
  work.dram_read_bytes = work.weight_bytes;
  if (l.senders > 1) {
    work.multicasts = work.blocks;
    work.receivers = l.senders;
    work.multicast_bytes = bytes_of(static_cast<double>(l.out_h) * reduction, l.tiles);
  }
  work.activations_double_buffered = l.activations_double_buffered;
  work.weights_double_buffered = l.weights_double_buffered;
  return work;
}

HaloShard halo_shard_of(const Conv2dPlan& plan, Layout layout) {
  HaloShard shard{plan.input.cores.num_cores(), plan.input.row_parts, 0, 0, plan.problem.config.config_tensors_in_dram};
  if (layout != Layout::tile) return shard;
  shard.tile_rows = ceil_div(plan.input_shard.height, kTile);
  shard.tiles = shard.tile_rows * ceil_div(plan.input_shard.width, kTile);
  return shard;
}

MatmulProblem interleaved_product(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  return {.m = ceil_div(p.batch * p.height * p.width, kTile),
          .k = ceil_div(p.in_channels, kTile),
          .n = ceil_div(p.out_channels, kTile),
          .a_dtype = p.input_dtype,
          .b_dtype = p.weights_dtype,
          .bias_dtype = p.weights_dtype,
          .out_dtype = p.output_dtype,
          .a_memory = p.input_memory,
          .b_memory = kDramMemoryConfig,
          .out_memory = kDramMemoryConfig,
          .bias = p.has_bias,
          .compute = p.compute,
          .grid = {card.grid_y, card.grid_x},
          .free_bytes = card.l1_max_worker_bytes};
}

std::vector<ProgramWork> conv2d_programs(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  std::vector<ProgramWork> out;
  if (plan.moves_input && !plan.interleaved) {
    const std::int64_t rows = p.batch * p.height * p.width;
    OperandFacts from{.rows = rows, .columns = p.in_channels, .dtype = p.input_dtype, .layout = p.input_layout};
    from.place = p.input_memory.is_l1() ? OperandPlace::l1 : OperandPlace::dram;
    if (p.input_memory.shard_spec()) {
      from.place = OperandPlace::block_sharded;
      from.cores = p.input_memory.shard_spec()->num_cores();
      from.shard = p.input_memory.shard_spec()->shape;
    }
    OperandFacts to = from;
    to.place = OperandPlace::block_sharded;
    to.cores = plan.input.cores.num_cores();
    to.shard = plan.input_shard;
    out.push_back(tensor_work(from.sharded() ? ProgramKind::reshard : ProgramKind::interleaved_to_sharded,
                              std::array{from, to}, to.cores));
  }
  if (plan.has_halo) {
    const HaloPlan halo = plan_halo({p.batch, p.height, p.width, p.window}, plan.input, plan.input_shard,
                                    plan.output_shard.height, p.input_dtype, p.input_layout);
    out.push_back(halo_work(halo, halo_shard_of(plan, p.input_layout)));
    if (p.config.reallocate_halo_output) out.push_back(moved_halo_work(halo, plan.input.cores.num_cores()));
  }
  out.push_back(conv2d_work(plan));
  return out;
}

ProgramWork conv2d_work(const Conv2dPlan& plan) {
  return plan.as_matmul ? product_work(plan) : conv2d_work(loops_of(plan));
}

}  // namespace tessera::tensix
