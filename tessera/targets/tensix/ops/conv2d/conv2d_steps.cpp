#include "tessera/targets/tensix/ops/conv2d/conv2d_steps.h"

#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_buffers.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_step_builder.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {

AllocationRequest on_each(std::int64_t bytes, std::int64_t cores) {
  return {bytes, bytes * cores, static_cast<int>(cores)};
}

Transfer transfer(MemoryKind from, MemoryKind to, std::int64_t bytes, std::int64_t pieces, std::int64_t busiest,
                  std::int64_t local) {
  return {from, to, bytes, pieces, local, busiest};
}

std::string window_key(const Conv2dProblem& p) {
  const SlidingWindow& w = p.window;
  return fmt::format("{}x{}x{}x{} k{}x{} s{}x{} d{}x{} p{},{},{},{}", p.batch, p.height, p.width, p.in_channels,
                     w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.top, w.bottom,
                     w.left, w.right);
}

std::string shards_key(const Parallel& cores, Extent2d shard) {
  return fmt::format("{} {} {} {}x{}", name(cores.layout), cores.cores.to_string(), name(cores.orientation),
                     shard.height, shard.width);
}

std::string conv_key(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  std::string key = fmt::format("conv2d {} -> {} g{} b{} {} {} {} {} | {} | {} | {}x{} {} {} {} {} {}", window_key(p),
                                p.out_channels, p.groups, p.has_bias, name(p.input_dtype), name(p.weights_dtype),
                                name(p.output_dtype), name(p.config.output_layout),
                                shards_key(plan.input, plan.input_shard), shards_key(plan.output, plan.output_shard),
                                plan.act_block_h, plan.act_block_w, plan.split_reader, name(p.compute.fidelity),
                                p.compute.fp32_dest_acc_en, plan.packer_l1_acc, p.config.activation.value_or(""));
  for (const PlannedBuffer& buffer : plan.circular_buffers) key += fmt::format(" {}", buffer.bytes);
  return key;
}

std::int64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype, Layout layout) {
  if (layout == Layout::tile) return ceil_div(rows, kTile) * ceil_div(columns, kTile) * tile_bytes(Tile{}, dtype);
  return rows * columns * element_bytes(dtype);
}

ConvolutionSteps::ConvolutionSteps(MemorySteps& steps, const Conv2dPlan& plan, const Conv2dProblem& problem,
                                   const Conv2dStepsInput& in, const Device& device)
    : steps_(steps), plan_(plan), p_(plan.problem), asked_(problem), in_(in), device_(device) {
  if (in.slice_of)
    slots_ = *in.slice_of;
  else
    slots_.input = steps.existing(*in.input);
  layout_ = p_.input_layout;
}

Conv2dSlots ConvolutionSteps::build() {
  work_ = slots_.input;
  memory_ = in_.input->spec().memory_config();
  if (plan_.folded) fold();
  if (!plan_.interleaved && plan_.moves_input) move_input();
  prepare();
  if (plan_.as_matmul)
    multiply();
  else
    convolve();
  if (in_.slice_of) {
    if (work_ != slots_.input) free(work_);
    write_slice();
    return slots_;
  }
  if (in_.memory_config && *in_.memory_config != plan_.output_memory()) move_output();
  // Width shards that are read without a halo stay, whoever asks.
  const bool stays = work_ == slots_.input && !plan_.as_matmul && !plan_.has_halo;
  if (work_ != slots_.input || (frees_input() && !stays)) free(work_);
  if (folded_) steps_.free(*folded_);
  return slots_;
}

HaloProblem ConvolutionSteps::halo_problem() const {
  HaloProblem halo = halo_problem_of(p_);
  halo.spread_h = in_.spread_h;
  halo.spread_w = in_.spread_w;
  halo.height = (p_.height - 1) / in_.spread_h + 1;
  halo.width = (p_.width - 1) / in_.spread_w + 1;
  return halo;
}

void ConvolutionSteps::prepare() {
  if (in_.slice_of && !in_.first_slice) return;
  if (in_.weights) {
    slots_.weights = steps_.existing(*in_.weights);
  } else {
    const Extent2d size = plan_.weight_matrix;
    slots_.weights = steps_.allocate(
        TensorSpec({1, 1, size.height, size.width}, in_.weights_dtype, Layout::tile, kDramMemoryConfig), "weights");
  }
  if (!p_.has_bias) return;
  if (in_.bias)
    slots_.bias = steps_.existing(*in_.bias);
  else
    slots_.bias = steps_.allocate(
        TensorSpec({1, 1, 1, plan_.weight_matrix.width}, in_.weights_dtype, Layout::tile, kDramMemoryConfig), "bias");
}

std::vector<Transfer> ConvolutionSteps::weight_transfers() const {
  const Extent2d size = plan_.weight_matrix;
  const std::int64_t tiles = ceil_div(size.height, kTile) * ceil_div(size.width, kTile);
  const std::int64_t bytes = tiles * tile_bytes(Tile{}, in_.weights_dtype);
  // Read once, then sent on to every other core that computes the same channels.
  const std::int64_t receivers = std::max<std::int64_t>(plan_.output.row_parts - 1, 0);
  std::vector<Transfer> out{transfer(MemoryKind::dram, MemoryKind::l1, bytes, tiles, bytes)};
  if (receivers > 0)
    out.push_back(transfer(MemoryKind::l1, MemoryKind::l1, bytes * receivers, tiles,
                           bytes / std::max<std::int64_t>(plan_.output.channel_parts, 1)));
  return out;
}

void ConvolutionSteps::multiply() {
  if (layout_ == Layout::row_major) {
    const MemorySteps::Slot before = work_;
    // Shards that are there already are first padded to whole tiles.
    std::optional<MemorySteps::Slot> padded;
    if (before == slots_.input && memory_.is_sharded() && in_rows() % kTile != 0) {
      padded = allocate_shards(plan_.input_memory(), "padded input");
      run(ProgramKind::pad, fmt::format("pad {} {}", window_key(p_), memory_.to_string()), "to whole tiles",
          {transfer(MemoryKind::l1, MemoryKind::l1, in_bytes(), in_rows(), 0, in_bytes())},
          work_on(ProgramKind::pad, {input_facts(), input_facts(layout_, plan_.input_memory())}));
    }
    tilize(plan_.interleaved ? memory_ : plan_.input_memory());
    if (padded) steps_.free(*padded);
    if (before == slots_.input ? frees_input() : (folded_ != before || frees_input())) free(before);
  }
  allocate_output();
  std::vector<Transfer> transfers = weight_transfers();
  if (plan_.interleaved)
    transfers.push_back(transfer(kind(), MemoryKind::l1, in_bytes(), ceil_div(in_rows(), kTile), in_bytes()));
  steps_.run({.key = conv_key(plan_),
              .lists = {},
              .circular_buffers = plan_.interleaved
                                      ? plan_matmul(interleaved_product(plan_, device_.card())).own_buffers()
                                      : on_cores(plan_.circular_buffers, conv_cores()),
              .dataflow = true,
              .record = {ProgramKind::matmul, describe(), std::move(transfers), product()}});
  // A product of an interleaved input in L1 leaves the bias to a program of its own.
  if (plan_.interleaved && p_.has_bias && memory_.is_l1()) {
    const MemorySteps::Slot product = slots_.output;
    allocate_output();
    const OperandFacts y = output_facts(out_layout(), plan_.output_memory());
    steps_.run(
        {.key = "add " + conv_key(plan_),
         .lists = {},
         .circular_buffers = {},
         .record = {
             ProgramKind::binary,
             "bias",
             {transfer(MemoryKind::dram, MemoryKind::dram, out_bytes(), 0, 0)},
             work_on(ProgramKind::binary,
                     {y, facts_of({kTile, p_.out_channels}, in_.weights_dtype, Layout::tile, kDramMemoryConfig), y}),
             "add"}});
    steps_.free(product);
  }
}

ConvolutionSteps::Work ConvolutionSteps::product() const {
  if (!plan_.interleaved) return std::make_shared<const ProgramWork>(conv2d_work(plan_));
  MatmulProblem problem = interleaved_product(plan_, device_.card());
  problem.a_memory = memory_;
  return std::make_shared<const ProgramWork>(matmul_work(problem, plan_matmul(problem)));
}

void ConvolutionSteps::convolve() {
  if (plan_.has_halo) gather();
  allocate_output();
  const HaloProblem halo = halo_problem();
  const std::int64_t list =
      reader_indices_bytes(halo, plan_.output_shard.height, plan_.act_block_h * kTile, plan_.split_reader);
  std::vector<Transfer> transfers = weight_transfers();
  const DType sticks = p_.input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  const std::int64_t windows =
      out_rows() * p_.window.kernel_h * p_.window.kernel_w * plan_.in_channels_padded * element_bytes(sticks);
  transfers.push_back(transfer(MemoryKind::l1, MemoryKind::l1, windows, out_rows() * p_.window.kernel_h,
                               windows / std::max<std::int64_t>(plan_.input.cores.num_cores(), 1), windows));
  run(ProgramKind::conv2d, conv_key(plan_), describe(), std::move(transfers),
      std::make_shared<const ProgramWork>(conv2d_work(plan_)), {kept("reader indices", list)},
      on_cores(plan_.circular_buffers, conv_cores()));
}

void ConvolutionSteps::gather() {
  const HaloPlan halo =
      plan_halo(halo_problem(), plan_.input, plan_.input_shard, plan_.output_shard.height, p_.input_dtype, layout_);
  const std::int64_t cores = plan_.input.cores.num_cores();
  const MemorySteps::Slot before = work_;
  const MemorySteps::Slot out = steps_.allocate("halo", BufferType::l1, on_each(halo.out_bytes_per_core(), cores));
  const std::string key =
      fmt::format("halo {} {} {} {} {} {}", window_key(p_), shards_key(plan_.input, plan_.input_shard),
                  plan_.output_shard.height, name(p_.input_dtype), name(layout_), p_.config.config_tensors_in_dram);
  std::vector<MemorySteps::KeptList> lists;
  for (const std::int64_t bytes : halo.config_bytes) lists.push_back(kept("halo list", bytes));
  std::vector<PlannedBuffer> buffers = halo.circular_buffers;
  if (p_.config.config_tensors_in_dram)
    for (const std::int64_t bytes : halo.config_bytes) buffers.push_back({"list", bytes, 1, DType::uint16});
  const std::int64_t columns = plan_.input.channel_parts;
  const std::int64_t moved = (halo.local_sticks + halo.remote_sticks) * halo.stick_bytes * columns;
  run(ProgramKind::halo, key, fmt::format("{} sticks of {} B on a core", halo.out_sticks, halo.stick_bytes),
      {transfer(MemoryKind::l1, MemoryKind::l1, moved, halo.pieces * columns,
                halo.busiest_core_sticks * halo.stick_bytes, halo.local_sticks * halo.stick_bytes * columns)},
      std::make_shared<const ProgramWork>(halo_work(halo, halo_shard_of(plan_, layout_))), std::move(lists),
      on_cores(buffers, plan_.input.cores));
  if (before == slots_.input ? frees_input() : (folded_ != before || frees_input())) free(before);
  work_ = out;
  if (p_.config.reallocate_halo_output)
    steps_.reallocate(out, "move " + key,
                      {ProgramKind::move,
                       "halo",
                       {transfer(MemoryKind::l1, MemoryKind::l1, cores * halo.out_bytes_per_core(), cores,
                                 halo.out_bytes_per_core(), cores * halo.out_bytes_per_core())},
                       std::make_shared<const ProgramWork>(moved_halo_work(halo, cores))});
}

MemorySteps::KeptList ConvolutionSteps::kept(std::string label, std::int64_t bytes) const {
  const std::int64_t cores = plan_.input.cores.num_cores();
  if (!p_.config.config_tensors_in_dram)
    return {std::move(label), BufferType::l1_small, on_each(round_up(bytes, device_.card().l1_alignment_bytes), cores)};
  // In DRAM one list does for all cores that have the same rows.
  const std::int64_t lists = plan_.input.row_parts;
  const std::int64_t page = round_up(bytes, device_.card().dram_alignment_bytes);
  const int banks = device_.card().dram_banks;
  return {std::move(label), BufferType::dram, {ceil_div(lists, banks) * page, lists * page, banks}};
}

std::string ConvolutionSteps::describe() const {
  return fmt::format("{} -> {} on {} cores, blocks of {}x{} tiles", window_key(p_), p_.out_channels,
                     plan_.output.cores.num_cores(), plan_.act_block_h, plan_.act_block_w);
}

void spread_input_shard(Conv2dPlan& plan, std::int64_t spread_h, std::int64_t spread_w) {
  if (!plan.moves_input) return;
  const Conv2dProblem& p = plan.problem;
  const std::int64_t rows = p.batch * ((p.height - 1) / spread_h + 1) * ((p.width - 1) / spread_w + 1);
  // Width shards hold all rows as they are; others are rounded to tiles.
  plan.input_shard.height =
      plan.input.layout == TensorMemoryLayout::width_sharded && p.input_layout == Layout::row_major
          ? rows
          : round_up(ceil_div(rows, plan.input.row_parts), kTile);
}

Conv2dSlots add_conv2d_steps(MemorySteps& steps, const Conv2dPlan& plan, const Conv2dProblem& problem,
                             const Conv2dStepsInput& in, const Device& device) {
  return ConvolutionSteps(steps, plan, problem, in, device).build();
}

}  // namespace tessera::tensix
