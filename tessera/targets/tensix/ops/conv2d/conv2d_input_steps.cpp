#include "tessera/targets/tensix/ops/conv2d/conv2d_step_builder.h"

#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {

void ConvolutionSteps::fold() {
  const SlidingWindow& w = asked_.window;
  const DType dtype = p_.input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  const bool padded = w.top + w.bottom + w.left + w.right > 0;
  const std::int64_t pixels = asked_.batch * (asked_.height + w.top + w.bottom) * (asked_.width + w.left + w.right);
  std::optional<MemorySteps::Slot> before;
  OperandFacts whole = facts_of(in_.input->spec());
  if (padded) {
    const TensorSpec spec({1, 1, pixels, asked_.in_channels}, dtype, Layout::row_major, kDramMemoryConfig);
    before = steps_.allocate(spec, "padded input");
    run(ProgramKind::pad, fmt::format("pad {}", window_key(asked_)), "for folding",
        {transfer(kind(), MemoryKind::dram, pixels * asked_.in_channels * element_bytes(dtype), pixels, 0)},
        work_on(ProgramKind::pad, {whole, facts_of(spec)}));
    whole = facts_of(spec);
  }
  const bool sharded = memory_.is_sharded() && !padded;
  MemoryConfig place = memory_.is_sharded() ? kDramMemoryConfig : memory_;
  if (sharded) {
    const ShardSpec& s = *memory_.shard_spec();
    const std::int64_t step = w.stride_h * w.stride_w;
    place = MemoryConfig(
        memory_.layout(), memory_.buffer_type(),
        ShardSpec{s.grid, {std::max<std::int64_t>(s.shape.height / step, 1), s.shape.width * step}, s.orientation});
  }
  const TensorSpec spec({1, 1, in_rows(), p_.in_channels}, dtype, Layout::row_major, place);
  folded_ = steps_.allocate(spec, "folded input");
  const std::int64_t bytes = in_rows() * p_.in_channels * element_bytes(dtype);
  run(ProgramKind::fold, fmt::format("fold {}", window_key(asked_)), fmt::format("by {}x{}", w.stride_h, w.stride_w),
      {transfer(kind(), memory_kind(place.buffer_type()), bytes, in_rows(), 0)},
      work_on(ProgramKind::fold, {whole, facts_of(spec)}));
  if (before) steps_.free(*before);
  if (frees_input()) steps_.free(slots_.input);
  work_ = *folded_;
  memory_ = place;
  layout_ = Layout::row_major;
}

void ConvolutionSteps::cut_input(const MemoryConfig& target) {
  const std::string key = fmt::format("{} to {}", window_key(p_), target.to_string());
  const MemoryConfig first = in_.cut_into->input_memory();
  const MemorySteps::Slot cut = allocate_shards(first, "slice", *in_.cut_into);
  bring_input(fmt::format("{} to {}", window_key(p_), first.to_string()), first, *in_.cut_into);
  memory_ = first;
  work_ = allocate_shards(target, "input shards");
  run(ProgramKind::reshard, "reshard " + key, target.to_string(),
      {transfer(MemoryKind::l1, MemoryKind::l1, in_bytes(), in_rows(), in_bytes() / plan_.input.cores.num_cores())},
      work_on(ProgramKind::reshard, {input_facts(layout_, first), input_facts(layout_, target)}));
  replace(cut, key, target);
  memory_ = target;
}

void ConvolutionSteps::move_input() {
  const MemoryConfig target = plan_.input_memory();
  if (in_.slice_of && in_.cut_into && in_.cut_into->input_memory() != target) return cut_input(target);
  const std::string key = fmt::format("{} to {}", window_key(p_), target.to_string());
  // A block-sharded product takes tiles, which row-major shards of part of a row could not be cut into.
  if (plan_.as_matmul && plan_.input.layout == TensorMemoryLayout::block_sharded && layout_ == Layout::row_major &&
      !memory_.is_sharded()) {
    const MemorySteps::Slot rows = work_;
    tilize(memory_);
    if (frees_input()) replace(rows, "tiles " + key, memory_);
  }
  const MemorySteps::Slot before = work_;
  const bool ours = before != slots_.input && folded_ != before;
  work_ = allocate_shards(target, "input shards");
  // Row by row, shards of another width are reached through a copy in DRAM.
  if (!in_.slice_of && memory_.is_sharded() && layout_ == Layout::row_major &&
      memory_.shard_spec()->shape.width != plan_.input_shard.width) {
    const MemorySteps::Slot copy = steps_.allocate(
        TensorSpec({1, 1, in_rows(), p_.in_channels}, p_.input_dtype, layout_, kDramMemoryConfig), "copy of the input");
    run(ProgramKind::sharded_to_interleaved, "sharded_to_interleaved " + key, "on the way to other shards",
        {transfer(kind(), MemoryKind::dram, in_bytes(), in_rows(), 0)},
        work_on(ProgramKind::sharded_to_interleaved, {input_facts(), input_facts(layout_, kDramMemoryConfig)}));
    memory_ = kDramMemoryConfig;
    bring_input(key, target, plan_);
    steps_.free(copy);
  } else {
    bring_input(key, target, plan_);
  }
  if (frees_input())
    replace(before, key, target);
  else if (ours)
    free(before);
  memory_ = target;
}

void ConvolutionSteps::bring_input(const std::string& key, const MemoryConfig& target, const Conv2dPlan& plan) {
  const ProgramKind program = in_.slice_of           ? ProgramKind::padded_slice
                              : memory_.is_sharded() ? ProgramKind::reshard
                                                     : ProgramKind::interleaved_to_sharded;
  std::vector<CircularBuffer> buffers;
  if (in_.slice_of && in_.input->spec().layout() == Layout::tile) {
    // A slice is cut out of untilized rows of tiles, which its program holds twice.
    const std::int64_t tiles = 4 * ceil_div(plan.input_shard.width, kTile);
    const std::int64_t stick = plan.input_shard.width * element_bytes(p_.input_dtype);
    buffers = {{"tiles", plan.input.cores, tiles * tile_bytes(Tile{}, in_.input->spec().dtype())},
               {"rows", plan.input.cores, tiles * tile_bytes(Tile{}, p_.input_dtype)},
               {"stick", plan.input.cores, stick}};
  }
  run(program, fmt::format("{} {}", name(program), key), target.to_string(),
      {transfer(kind(), MemoryKind::l1, in_bytes(), in_rows(), in_bytes() / plan.input.cores.num_cores())},
      work_on(program, {in_.slice_of ? facts_of(in_.input->spec()) : input_facts(), input_facts(layout_, target)}), {},
      std::move(buffers));
}

void ConvolutionSteps::replace(MemorySteps::Slot before, const std::string& key, const MemoryConfig& place) {
  free(before);
  const OperandFacts moved = input_facts(layout_, place);
  steps_.reallocate(work_, "move " + key, {ProgramKind::move, "input", {}, work_on(ProgramKind::move, {moved, moved})});
}

MemorySteps::Slot ConvolutionSteps::allocate_shards(const MemoryConfig& target, std::string label,
                                                    const Conv2dPlan& plan) {
  const ShardSpec& shards = *target.shard_spec();
  const bool tile = layout_ == Layout::tile;
  const std::int64_t bytes =
      tile ? shards.shape.height / kTile * (shards.shape.width / kTile) * tile_bytes(Tile{}, p_.input_dtype)
           : shards.shape.height *
                 round_up(shards.shape.width * element_bytes(p_.input_dtype), device_.card().l1_alignment_bytes);
  return steps_.allocate(std::move(label), BufferType::l1, on_each(bytes, used_cores(shards, plan)));
}

std::int64_t ConvolutionSteps::used_cores(const ShardSpec& shards, const Conv2dPlan& plan) const {
  const std::int64_t rows = std::min(ceil_div(in_rows(), shards.shape.height), plan.input.row_parts);
  const std::int64_t columns =
      std::min(ceil_div(plan.in_channels_padded, shards.shape.width), plan.input.channel_parts);
  return std::min(rows * columns, shards.grid.num_cores());
}

void ConvolutionSteps::tilize(const MemoryConfig& place) {
  MemorySteps::Slot tiles = 0;
  const OperandFacts before = input_facts();
  layout_ = Layout::tile;
  if (place.is_sharded())
    tiles = allocate_shards(place, "tilized input");
  else
    tiles = steps_.allocate(TensorSpec({1, 1, in_rows(), p_.in_channels}, p_.input_dtype, Layout::tile, place),
                            "tilized input");
  const std::int64_t bytes = in_bytes();
  run(ProgramKind::tilize, fmt::format("tilize {} {}", window_key(p_), place.to_string()), place.to_string(),
      {transfer(kind(), memory_kind(place.buffer_type()), bytes, bytes / tile_bytes(Tile{}, p_.input_dtype), 0)},
      work_on(ProgramKind::tilize, {before, input_facts(layout_, place)}));
  work_ = tiles;
  memory_ = place;
}

}  // namespace tessera::tensix
