#include "tessera/targets/tensix/ops/pool/pool_steps.h"

#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/ops/halo/halo_work.h"
#include "tessera/targets/tensix/ops/pool/pool_work.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

AllocationRequest on_each(std::int64_t bytes, std::int64_t cores) {
  return {bytes, bytes * cores, static_cast<int>(cores)};
}

std::vector<CircularBuffer> on_cores(const std::vector<PlannedBuffer>& buffers, const CoreRangeSet& cores) {
  std::vector<CircularBuffer> out;
  for (const PlannedBuffer& b : buffers) out.push_back({b.name, cores, b.bytes});
  return out;
}

Transfer moved(MemoryKind source, MemoryKind target, std::int64_t bytes, std::int64_t pieces, std::int64_t busiest,
               std::int64_t local = 0) {
  return {source, target, bytes, pieces, local, busiest};
}

// Shards, halo, the input's shards freed, the halo moved up, the pool, the halo freed, and the result moved to where it
// was wanted.
class PoolSteps {
 public:
  PoolSteps(MemorySteps& steps, const DeviceTensor& x, const PoolPlan& plan, const PoolProblem& problem,
            const PoolOptions& options, const std::optional<PoolSliceOf>& slice_of)
      : steps_(steps),
        from_(x.spec()),
        x_(x),
        plan_(plan),
        p_(problem),
        options_(options),
        slice_of_(slice_of),
        card_(x.device()->card()),
        cores_(plan.parallel.cores.num_cores()) {
    const SlidingWindow& w = plan.window.window;
    key_ = fmt::format(
        "{} {}x{}x{}x{} k{}x{} s{}x{} d{}x{} p{},{},{},{} {} {} {} {} {} {} {}x{}{}", name(pool_program(p_.kind)),
        p_.batch, p_.height, p_.width, p_.channels, w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
        w.dilation_w, w.top, w.bottom, w.left, w.right, name(from_.dtype()), name(from_.layout()), name(options.dtype),
        name(options.layout), name(plan.parallel.layout), plan.parallel.cores.to_string(), plan.input_shard.height,
        plan.input_shard.width,
        fmt::format("{}{}", p_.indices ? " indices" : "", options.lists_in_dram ? " lists in DRAM" : ""));
  }

  PoolSlots build() {
    const MemorySteps::Slot input = slice_of_ ? slice_of_->input : steps_.existing(x_);
    const bool sharded = p_.input_shard.has_value(), in_dram = from_.memory_config().is_dram();
    bool copied = !sharded;
    const MemorySteps::Slot copy = copied ? shard_input() : input;
    const MemorySteps::Slot halo = gather();
    if (copied && (in_dram || options_.deallocate_input)) {
      steps_.free(copy);
      copied = false;
    }
    if (options_.deallocate_input && !in_dram) steps_.free(input);
    if (options_.reallocate_halo) move_halo(halo);
    PoolSlots slots = compute();
    if (slice_of_) {
      steps_.free(halo);
      run(ProgramKind::slice_write, "slice", {}, {},
          moved(MemoryKind::l1, MemoryKind::dram, out_bytes(), out_rows(), 0),
          work_on(ProgramKind::slice_write, {result_facts(options_.dtype, plan_.output_memory()),
                                             result_facts(options_.dtype, kDramMemoryConfig)}));
      steps_.free(slots.result);
      return {slice_of_->output, std::nullopt};
    }
    if (options_.memory_config && *options_.memory_config != shown(plan_.output_shard)) {
      slots.result = move_result(slots.result, options_.dtype);
      if (slots.indices) slots.indices = move_result(*slots.indices, *p_.indices);
    }
    steps_.free(halo);
    if (copied) steps_.free(copy);
    return slots;
  }

 private:
  std::int64_t out_rows() const { return plan_.window.out_rows(); }
  std::int64_t out_bytes() const { return out_rows() * p_.channels * element_bytes(DType::bfloat16); }

  OperandFacts input_facts() const {
    return facts_of({p_.in_rows(), p_.channels}, p_.input_dtype, p_.input_layout, plan_.input_memory());
  }
  OperandFacts result_facts(DType dtype, const MemoryConfig& place) const {
    return facts_of({out_rows(), p_.channels}, dtype, options_.layout, place);
  }
  HaloShard halo_shard() const {
    HaloShard shard{cores_, plan_.parallel.row_parts, 0, 0, options_.lists_in_dram};
    if (p_.input_layout != Layout::tile) return shard;
    shard.tile_rows = ceil_div(plan_.input_shard.height, kTile);
    shard.tiles = shard.tile_rows * ceil_div(plan_.input_shard.width, kTile);
    return shard;
  }
  PoolLoops loops() const {
    PoolLoops loops;
    loops.cores = cores_;
    loops.rows = plan_.output_shard.height;
    loops.channel_tiles = ceil_div(plan_.output_shard.width, kTile);
    loops.kernel_h = plan_.window.window.kernel_h;
    loops.kernel_w = plan_.window.window.kernel_w;
    loops.stick_bytes = plan_.output_shard.width * element_bytes(DType::bfloat16);
    loops.average = p_.kind == PoolKind::average;
    return loops;
  }

  void run(ProgramKind kind, const std::string& detail, std::vector<MemorySteps::KeptList> lists,
           std::vector<CircularBuffer> buffers, const Transfer& transfer, std::shared_ptr<const ProgramWork> work) {
    steps_.run({.key = fmt::format("{} {}", name(kind), key_),
                .lists = std::move(lists),
                .circular_buffers = std::move(buffers),
                .record = {kind, detail, {transfer}, std::move(work)}});
  }

  MemorySteps::KeptList list(const char* label, std::int64_t bytes) const {
    if (!options_.lists_in_dram)
      return {label, BufferType::l1_small, on_each(round_up(bytes, card_.l1_alignment_bytes), cores_)};
    // One list does for all cores that have the same rows.
    const std::int64_t lists = plan_.parallel.row_parts, page = round_up(bytes, card_.dram_alignment_bytes);
    return {label, BufferType::dram, {ceil_div(lists, card_.dram_banks) * page, lists * page, card_.dram_banks}};
  }

  MemorySteps::Slot shard_input() {
    const std::int64_t elements = plan_.input_shard.height * plan_.input_shard.width;
    const bool tiles = p_.input_layout == Layout::tile;
    const std::int64_t bytes =
        tiles ? elements / (kTile * kTile) * tile_bytes(p_.input_dtype)
              : plan_.input_shard.height *
                    round_up(plan_.input_shard.width * element_bytes(p_.input_dtype), card_.l1_alignment_bytes);
    const MemorySteps::Slot copy = steps_.allocate("sharded input", BufferType::l1, on_each(bytes, cores_));
    const MemoryKind source = memory_kind(from_.memory_config().buffer_type());
    if (!slice_of_) {
      run(ProgramKind::interleaved_to_sharded, plan_.input_memory().to_string(), {}, {},
          moved(source, MemoryKind::l1, x_.num_pages() * x_.page_bytes(), x_.num_pages(), bytes),
          work_on(ProgramKind::interleaved_to_sharded, {facts_of(from_), input_facts()}));
      return copy;
    }
    std::vector<CircularBuffer> buffers;
    if (from_.layout() == Layout::tile) {
      // A slice is cut out of untilized rows of tiles, which its program holds twice.
      const std::int64_t tile_count = 4 * ceil_div(plan_.input_shard.width, kTile);
      const CoreRangeSet& on = plan_.parallel.cores;
      buffers = {{"tiles", on, tile_count * tile_bytes(from_.dtype())},
                 {"rows", on, tile_count * tile_bytes(p_.input_dtype)},
                 {"stick", on, plan_.input_shard.width * element_bytes(p_.input_dtype)}};
    }
    const std::int64_t all = p_.in_rows() * p_.channels * element_bytes(p_.input_dtype);
    run(ProgramKind::padded_slice, plan_.input_memory().to_string(), {}, std::move(buffers),
        moved(source, MemoryKind::l1, all, p_.in_rows(), bytes),
        work_on(ProgramKind::padded_slice, {facts_of(from_), input_facts()}));
    return copy;
  }

  MemorySteps::Slot gather() {
    const HaloPlan& h = plan_.halo;
    const MemorySteps::Slot halo = steps_.allocate("halo", BufferType::l1, on_each(h.out_bytes_per_core(), cores_));
    std::vector<MemorySteps::KeptList> lists;
    for (const std::int64_t bytes : h.config_bytes) lists.push_back(list("halo list", bytes));
    std::vector<PlannedBuffer> buffers = h.circular_buffers;
    if (options_.lists_in_dram)
      for (const std::int64_t bytes : h.config_bytes) buffers.push_back({"list", bytes, 1, DType::uint16});
    const std::int64_t across = plan_.parallel.channel_parts;
    run(ProgramKind::halo, fmt::format("{} sticks of {} B on a core", h.out_sticks, h.stick_bytes), std::move(lists),
        on_cores(buffers, plan_.parallel.cores),
        moved(MemoryKind::l1, MemoryKind::l1, (h.local_sticks + h.remote_sticks) * h.stick_bytes * across,
              h.pieces * across, h.busiest_core_sticks * h.stick_bytes, h.local_sticks * h.stick_bytes * across),
        std::make_shared<const ProgramWork>(halo_work(h, halo_shard())));
    return halo;
  }

  void move_halo(MemorySteps::Slot halo) {
    const std::int64_t bytes = plan_.halo.out_bytes_per_core();
    steps_.reallocate(halo, "move " + key_,
                      {ProgramKind::move,
                       "halo",
                       {moved(MemoryKind::l1, MemoryKind::l1, cores_ * bytes, cores_, bytes, cores_ * bytes)},
                       std::make_shared<const ProgramWork>(moved_halo_work(plan_.halo, cores_))});
  }

  MemoryConfig shown(Extent2d shard) const {
    if (hides()) shard.width = p_.channels;
    return MemoryConfig(plan_.parallel.layout, BufferType::l1,
                        ShardSpec{plan_.parallel.cores, shard, plan_.parallel.orientation});
  }

  // In rows, shards may be wider than what is in them: the tensor shows its own channels only.
  bool hides() const {
    return options_.layout == Layout::row_major && plan_.parallel.layout == TensorMemoryLayout::height_sharded &&
           plan_.output_shard.width != p_.channels;
  }

  MemorySteps::Slot allocate_result(DType dtype, const char* label) {
    const std::int64_t row =
        is_block_float(dtype) ? 0 : round_up(plan_.output_shard.width * element_bytes(dtype), card_.l1_alignment_bytes);
    if (slice_of_) {
      const std::int64_t bytes = options_.layout == Layout::tile
                                     ? ceil_div(plan_.output_shard.height, kTile) *
                                           ceil_div(plan_.output_shard.width, kTile) * tile_bytes(dtype)
                                     : plan_.output_shard.height * row;
      return steps_.allocate(label, BufferType::l1, on_each(bytes, cores_));
    }
    const TensorSpec spec({1, 1, out_rows(), p_.channels}, dtype, options_.layout, shown(plan_.output_shard));
    return hides() ? steps_.allocate(spec, label, on_each(plan_.output_shard.height * row, cores_))
                   : steps_.allocate(spec, label);
  }

  PoolSlots compute() {
    PoolSlots slots{allocate_result(options_.dtype, "output"), std::nullopt};
    if (p_.indices) slots.indices = allocate_result(*p_.indices, "indices");
    const SlidingWindow& w = plan_.window.window;
    const std::int64_t windows = w.kernel_h * w.kernel_w * out_bytes();
    std::vector<PlannedBuffer> buffers = plan_.buffers;
    if (options_.lists_in_dram) buffers.push_back({"windows", plan_.reader_bytes, 1, DType::uint16});
    run(pool_program(p_.kind), fmt::format("[{}, {}, {}, {}]", p_.batch, p_.height, p_.width, p_.channels),
        {list("windows", plan_.reader_bytes)}, on_cores(buffers, plan_.parallel.cores),
        moved(MemoryKind::l1, MemoryKind::l1, windows, out_rows() * w.kernel_h, windows / cores_, windows),
        std::make_shared<const ProgramWork>(pool_work(loops())));
    return slots;
  }

  MemorySteps::Slot move_result(MemorySteps::Slot from, DType dtype) {
    const TensorSpec target({1, 1, out_rows(), p_.channels}, dtype, options_.layout, *options_.memory_config);
    const MemorySteps::Slot result = steps_.allocate(target, "result");
    const std::int64_t bytes = target.num_pages() * target.page_bytes();
    const ProgramKind kind = ProgramKind::sharded_to_interleaved;
    steps_.run({.key = fmt::format("{} {} {}", name(kind), name(dtype), key_),
                .lists = {},
                .circular_buffers = {},
                .record = {kind,
                           options_.memory_config->to_string(),
                           {moved(MemoryKind::l1, memory_kind(options_.memory_config->buffer_type()), bytes,
                                  target.num_pages(), bytes / cores_)},
                           work_on(kind, {result_facts(dtype, plan_.output_memory()), facts_of(target)})}});
    steps_.free(from);
    return result;
  }

  MemorySteps& steps_;
  const TensorSpec& from_;
  const DeviceTensor& x_;
  const PoolPlan& plan_;
  const PoolProblem& p_;
  const PoolOptions& options_;
  const std::optional<PoolSliceOf>& slice_of_;
  const TensixSpec& card_;
  std::int64_t cores_;
  std::string key_;
};

}  // namespace

PoolSlots add_pool_steps(MemorySteps& steps, const DeviceTensor& x, const PoolPlan& plan, const PoolProblem& problem,
                         const PoolOptions& options, const std::optional<PoolSliceOf>& slice_of) {
  return PoolSteps(steps, x, plan, problem, options, slice_of).build();
}

}  // namespace tessera::tensix
