#include "tessera/backends/sim/tensix/internal/conv2d_steps.h"

#include "tessera/backends/sim/tensix/internal/conv2d_buffers.h"
#include "tessera/backends/sim/tensix/tile_side.h"
#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/machine/page_copy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

AllocationRequest on_each(std::int64_t bytes, std::int64_t cores) {
  return {bytes, bytes * cores, static_cast<int>(cores)};
}

Transfer transfer(MemoryKind from, MemoryKind to, std::int64_t bytes, std::int64_t pieces, std::int64_t busiest,
                  std::int64_t local = 0) {
  return {from, to, bytes, pieces, local, busiest};
}

std::string window_key(const Conv2dProblem& p) {
  const Window& w = p.window;
  return fmt::format("{}x{}x{}x{} k{}x{} s{}x{} d{}x{} p{},{},{},{}", p.batch, p.height, p.width, p.in_channels,
                     w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.top, w.bottom,
                     w.left, w.right);
}

std::string shards_key(const Parallel& cores, Extent2d shard) {
  return fmt::format("{} {} {} {}x{}", name(cores.layout), cores.cores.to_string(), name(cores.orientation),
                     shard.height, shard.width);
}

// All that a program of a convolution depends on.
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

// As useful bytes: what tensors hold, padding of shards left out.
std::int64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype, Layout layout) {
  if (layout == Layout::tile) return ceil_div(rows, kTile) * ceil_div(columns, kTile) * tile_bytes(Tile{}, dtype);
  return rows * columns * element_bytes(dtype);
}

class ConvolutionSteps {
 public:
  ConvolutionSteps(MemorySteps& steps, const Conv2dPlan& plan, const Conv2dProblem& problem, const Conv2dStepsInput& in,
                   const Device& device)
      : steps_(steps), plan_(plan), p_(plan.problem), asked_(problem), in_(in), device_(device) {
    if (in.slice_of)
      slots_ = *in.slice_of;
    else
      slots_.input = steps.existing(*in.input);
    layout_ = p_.input_layout;
  }

  Conv2dSlots build() {
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

 private:
  std::int64_t in_rows() const {
    return p_.batch * ((p_.height - 1) / in_.spread_h + 1) * ((p_.width - 1) / in_.spread_w + 1);
  }
  HaloProblem halo_problem() const {
    HaloProblem halo = halo_problem_of(p_);
    halo.spread_h = in_.spread_h;
    halo.spread_w = in_.spread_w;
    halo.height = (p_.height - 1) / in_.spread_h + 1;
    halo.width = (p_.width - 1) / in_.spread_w + 1;
    return halo;
  }
  std::int64_t out_rows() const { return p_.batch * p_.out_h() * p_.out_w(); }
  std::int64_t in_bytes() const { return matrix_bytes(in_rows(), p_.in_channels, p_.input_dtype, layout_); }
  std::int64_t out_bytes() const { return matrix_bytes(out_rows(), p_.out_channels, p_.output_dtype, out_layout()); }
  // A product leaves tiles, whatever was asked for.
  Layout out_layout() const { return plan_.as_matmul ? Layout::tile : p_.config.output_layout; }
  // An input that is no longer needed: one in DRAM stays.
  bool frees_input() const { return p_.config.deallocate_activation && in_.input->spec().memory_config().is_l1(); }
  MemoryKind kind() const { return memory_kind(memory_.buffer_type()); }
  void free(MemorySteps::Slot slot) {
    if (folded_ == slot) folded_.reset();
    steps_.free(slot);
  }

  void run(const std::string& op, const std::string& key, std::string detail, std::vector<Transfer> transfers,
           std::vector<MemorySteps::KeptList> lists = {}, std::vector<CircularBuffer> buffers = {}) {
    steps_.run({op, key, std::move(lists), std::move(buffers), false, {op, std::move(detail), std::move(transfers)}});
  }

  // The pixels of a step of the window become channels. A tiled input is made row-major on the way.
  void fold() {
    const Window& w = asked_.window;
    const DType dtype = p_.input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
    const bool padded = w.top + w.bottom + w.left + w.right > 0;
    const std::int64_t pixels = asked_.batch * (asked_.height + w.top + w.bottom) * (asked_.width + w.left + w.right);
    std::optional<MemorySteps::Slot> before;
    if (padded) {
      const TensorSpec spec({1, 1, pixels, asked_.in_channels}, dtype, Layout::row_major, kDramMemoryConfig);
      before = steps_.allocate(spec, "padded input");
      run("pad", fmt::format("pad {}", window_key(asked_)), "for folding",
          {transfer(kind(), MemoryKind::dram, pixels * asked_.in_channels * element_bytes(dtype), pixels, 0)});
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
    run("fold", fmt::format("fold {}", window_key(asked_)), fmt::format("by {}x{}", w.stride_h, w.stride_w),
        {transfer(kind(), memory_kind(place.buffer_type()), bytes, in_rows(), 0)});
    if (before) steps_.free(*before);
    if (frees_input()) steps_.free(slots_.input);
    work_ = *folded_;
    memory_ = place;
    layout_ = Layout::row_major;
  }

  void move_input() {
    const MemoryConfig target = plan_.input_memory();
    const std::string key = fmt::format("{} to {}", window_key(p_), target.to_string());
    // A block-sharded product takes tiles, which row-major shards of part of a row could not be cut into.
    if (plan_.as_matmul && plan_.input.layout == TensorMemoryLayout::block_sharded && layout_ == Layout::row_major &&
        !memory_.is_sharded()) {
      const MemorySteps::Slot rows = work_;
      tilize(memory_);
      if (frees_input()) replace(rows, "tiles " + key);
    }
    const MemorySteps::Slot before = work_;
    const bool ours = before != slots_.input && folded_ != before;
    work_ = allocate_shards(target, "input shards");
    // Row by row, shards of another width are reached through a copy in DRAM.
    if (!in_.slice_of && memory_.is_sharded() && layout_ == Layout::row_major &&
        memory_.shard_spec()->shape.width != plan_.input_shard.width) {
      const MemorySteps::Slot copy =
          steps_.allocate(TensorSpec({1, 1, in_rows(), p_.in_channels}, p_.input_dtype, layout_, kDramMemoryConfig),
                          "copy of the input");
      run("sharded_to_interleaved", "sharded_to_interleaved " + key, "on the way to other shards",
          {transfer(kind(), MemoryKind::dram, in_bytes(), in_rows(), 0)});
      memory_ = kDramMemoryConfig;
      bring_input(key, target);
      steps_.free(copy);
    } else {
      bring_input(key, target);
    }
    if (frees_input())
      replace(before, key);
    else if (ours)
      free(before);
    memory_ = target;
  }

  void bring_input(const std::string& key, const MemoryConfig& target) {
    const std::string op = in_.slice_of ? "padded_slice" : memory_.is_sharded() ? "reshard" : "interleaved_to_sharded";
    std::vector<CircularBuffer> buffers;
    if (in_.slice_of && in_.input->spec().layout() == Layout::tile) {
      // A slice is cut out of untilized rows of tiles, which its program holds twice.
      const std::int64_t tiles = 4 * ceil_div(p_.in_channels, kTile) * tile_bytes(Tile{}, p_.input_dtype);
      const std::int64_t stick = plan_.input_shard.width * element_bytes(p_.input_dtype);
      buffers = {
          {"tiles", plan_.input.cores, tiles}, {"rows", plan_.input.cores, tiles}, {"stick", plan_.input.cores, stick}};
    }
    run(op, op + " " + key, target.to_string(),
        {transfer(kind(), MemoryKind::l1, in_bytes(), in_rows(), in_bytes() / plan_.input.cores.num_cores())}, {},
        std::move(buffers));
  }

  // What has been read goes, and what was made of it moves up into its place.
  void replace(MemorySteps::Slot before, const std::string& key) {
    free(before);
    steps_.reallocate(work_, "move " + key, {"move", "input", {}});
  }

  // Shards may be wider than the tensor: channels padded to what a core reads at once.
  MemorySteps::Slot allocate_shards(const MemoryConfig& target, std::string label) {
    const ShardSpec& shards = *target.shard_spec();
    const bool tile = layout_ == Layout::tile;
    const std::int64_t bytes =
        tile ? shards.shape.height / kTile * (shards.shape.width / kTile) * tile_bytes(Tile{}, p_.input_dtype)
             : shards.shape.height *
                   round_up(shards.shape.width * element_bytes(p_.input_dtype), device_.card().l1_alignment_bytes);
    return steps_.allocate(std::move(label), BufferType::l1, on_each(bytes, used_cores(shards)));
  }

  // Cores that rows or channels are left for.
  std::int64_t used_cores(const ShardSpec& shards) const {
    const std::int64_t rows = std::min(ceil_div(in_rows(), shards.shape.height), plan_.input.row_parts);
    const std::int64_t columns =
        std::min(ceil_div(plan_.in_channels_padded, shards.shape.width), plan_.input.channel_parts);
    return std::min(rows * columns, shards.grid.num_cores());
  }

  void tilize(const MemoryConfig& place) {
    MemorySteps::Slot tiles = 0;
    layout_ = Layout::tile;
    if (place.is_sharded())
      tiles = allocate_shards(place, "tilized input");
    else
      tiles = steps_.allocate(TensorSpec({1, 1, in_rows(), p_.in_channels}, p_.input_dtype, Layout::tile, place),
                              "tilized input");
    const std::int64_t bytes = in_bytes();
    run("tilize", fmt::format("tilize {} {}", window_key(p_), place.to_string()), place.to_string(),
        {transfer(kind(), memory_kind(place.buffer_type()), bytes, bytes / tile_bytes(Tile{}, p_.input_dtype), 0)});
    work_ = tiles;
    memory_ = place;
  }

  void prepare() {
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

  std::vector<Transfer> weight_transfers() const {
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

  void multiply() {
    if (layout_ == Layout::row_major) {
      const MemorySteps::Slot before = work_;
      // Shards that are there already are first padded to whole tiles.
      std::optional<MemorySteps::Slot> padded;
      if (before == slots_.input && memory_.is_sharded() && in_rows() % kTile != 0) {
        padded = allocate_shards(plan_.input_memory(), "padded input");
        run("pad", fmt::format("pad {} {}", window_key(p_), memory_.to_string()), "to whole tiles",
            {transfer(MemoryKind::l1, MemoryKind::l1, in_bytes(), in_rows(), 0, in_bytes())});
      }
      tilize(plan_.interleaved ? memory_ : plan_.input_memory());
      if (padded) steps_.free(*padded);
      if (before == slots_.input ? frees_input() : (folded_ != before || frees_input())) free(before);
    }
    allocate_output();
    std::vector<Transfer> transfers = weight_transfers();
    if (plan_.interleaved)
      transfers.push_back(transfer(kind(), MemoryKind::l1, in_bytes(), ceil_div(in_rows(), kTile), in_bytes()));
    steps_.run({.op = "matmul",
                .key = conv_key(plan_),
                .lists = {},
                .circular_buffers = on_cores(plan_.circular_buffers, conv_cores()),
                .dataflow = true,
                .record = {"matmul", describe(), std::move(transfers)}});
    // A product of an interleaved input in L1 leaves the bias to a program of its own.
    if (plan_.interleaved && p_.has_bias && memory_.is_l1()) {
      const MemorySteps::Slot product = slots_.output;
      allocate_output();
      run("add", "add " + conv_key(plan_), "bias", {transfer(MemoryKind::dram, MemoryKind::dram, out_bytes(), 0, 0)});
      steps_.free(product);
    }
  }

  void convolve() {
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
    run("conv2d", conv_key(plan_), describe(), std::move(transfers), {kept("reader indices", list)},
        on_cores(plan_.circular_buffers, conv_cores()));
  }

  void gather() {
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
    run("halo", key, fmt::format("{} sticks of {} B on a core", halo.out_sticks, halo.stick_bytes),
        {transfer(MemoryKind::l1, MemoryKind::l1, moved, halo.pieces * columns,
                  halo.busiest_core_sticks * halo.stick_bytes, halo.local_sticks * halo.stick_bytes * columns)},
        std::move(lists), on_cores(buffers, plan_.input.cores));
    if (before == slots_.input ? frees_input() : (folded_ != before || frees_input())) free(before);
    work_ = out;
    if (p_.config.reallocate_halo_output)
      steps_.reallocate(out, "move " + key,
                        {"move",
                         "halo",
                         {transfer(MemoryKind::l1, MemoryKind::l1, cores * halo.out_bytes_per_core(), cores,
                                   halo.out_bytes_per_core(), cores * halo.out_bytes_per_core())}});
  }

  MemorySteps::KeptList kept(std::string label, std::int64_t bytes) const {
    const std::int64_t cores = plan_.input.cores.num_cores();
    if (!p_.config.config_tensors_in_dram)
      return {std::move(label), BufferType::l1_small,
              on_each(round_up(bytes, device_.card().l1_alignment_bytes), cores)};
    // In DRAM one list does for all cores that have the same rows.
    const std::int64_t lists = plan_.input.row_parts;
    const std::int64_t page = round_up(bytes, device_.card().dram_alignment_bytes);
    const int banks = device_.card().dram_banks;
    return {std::move(label), BufferType::dram, {ceil_div(lists, banks) * page, lists * page, banks}};
  }

  CoreRangeSet conv_cores() const { return plan_.input.cores.merged_with(plan_.output.cores).bounding_box(); }

  static std::vector<CircularBuffer> on_cores(const std::vector<PlannedBuffer>& buffers, const CoreRangeSet& cores) {
    std::vector<CircularBuffer> out;
    for (const PlannedBuffer& buffer : buffers) out.push_back({buffer.name, cores, buffer.bytes});
    return out;
  }

  void allocate_output() {
    const Shape shape{1, 1, out_rows(), p_.out_channels};
    const Layout layout = out_layout();
    const MemoryConfig place = plan_.output_memory();
    if (layout == Layout::tile || !place.is_sharded()) {
      slots_.output = steps_.allocate(TensorSpec(shape, p_.output_dtype, layout, place), "output");
      return;
    }
    // Row by row, shards keep their padding to whole tiles but the tensor shows only its own channels.
    const ShardSpec& shards = *place.shard_spec();
    Extent2d visible = shards.shape;
    if (place.layout() == TensorMemoryLayout::height_sharded) visible.width = p_.out_channels;
    if (place.layout() == TensorMemoryLayout::width_sharded) visible.height = out_rows();
    const TensorSpec spec(
        shape, p_.output_dtype, layout,
        MemoryConfig(place.layout(), BufferType::l1, ShardSpec{shards.grid, visible, shards.orientation}));
    const std::int64_t bytes = shards.shape.height * round_up(shards.shape.width * element_bytes(p_.output_dtype),
                                                              device_.card().l1_alignment_bytes);
    slots_.output = steps_.allocate(spec, "output", on_each(bytes, shards.num_cores()));
  }

  void move_output() {
    const MemorySteps::Slot before = slots_.output;
    const TensorSpec spec({1, 1, out_rows(), p_.out_channels}, p_.output_dtype, out_layout(), *in_.memory_config);
    slots_.output = steps_.allocate(spec, "output");
    const std::string op = in_.memory_config->is_sharded() ? "reshard" : "sharded_to_interleaved";
    run(op, fmt::format("{} {} {}", op, conv_key(plan_), in_.memory_config->to_string()),
        in_.memory_config->to_string(),
        {transfer(MemoryKind::l1, memory_kind(in_.memory_config->buffer_type()), out_bytes(), out_rows(), 0)});
    steps_.free(before);
  }

  // A slice is computed in tiles; row by row, it is untilized before it is written.
  void write_slice() {
    MemorySteps::Slot slice = slots_.output;
    slots_.output = in_.slice_of->output;
    const Layout layout = asked_.config.output_layout;
    if (layout == Layout::row_major && p_.config.output_layout == Layout::tile) {
      const ShardSpec shards = *plan_.output_memory().shard_spec();
      const std::int64_t bytes = shards.shape.height * shards.shape.width * element_bytes(p_.output_dtype);
      const MemorySteps::Slot rows =
          steps_.allocate("untilized slice", BufferType::l1, on_each(bytes, shards.num_cores()));
      run("untilize", "untilize " + conv_key(plan_), "slice",
          {transfer(MemoryKind::l1, MemoryKind::l1, out_bytes(), out_rows(), bytes, out_bytes())});
      steps_.free(slice);
      slice = rows;
    }
    run("slice_write", "slice_write " + conv_key(plan_), "slice",
        {transfer(MemoryKind::l1, MemoryKind::dram, out_bytes(), out_rows(), 0)});
    steps_.free(slice);
  }

  std::string describe() const {
    return fmt::format("{} -> {} on {} cores, blocks of {}x{} tiles", window_key(p_), p_.out_channels,
                       plan_.output.cores.num_cores(), plan_.act_block_h, plan_.act_block_w);
  }

  MemorySteps& steps_;
  const Conv2dPlan& plan_;
  const Conv2dProblem& p_;
  const Conv2dProblem& asked_;
  const Conv2dStepsInput& in_;
  const Device& device_;
  Conv2dSlots slots_;
  MemorySteps::Slot work_ = 0;  // what the next program reads
  MemoryConfig memory_;         // where that is
  Layout layout_ = Layout::row_major;
  std::optional<MemorySteps::Slot> folded_;
};

}  // namespace

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
