#include "tessera/backends/sim/tensix/pool.h"

#include "tessera/backends/sim/tensix/memory_steps.h"
#include "tessera/backends/sim/tensix/numerics.h"
#include "tessera/backends/sim/tensix/placement.h"
#include "tessera/backends/sim/tensix/pool_values.h"
#include "tessera/core/error.h"
#include "tessera/machine/ops/program.h"
#include "tessera/machine/ops/to_layout.h"
#include "tessera/machine/page_copy.h"

namespace tessera::tensix {
namespace {

std::string_view op_name(PoolKind kind) { return kind == PoolKind::max ? "max_pool2d" : "avg_pool2d"; }

void check_window(std::string_view op, const PoolOptions& o) {
  const Window& w = o.window;
  check(o.batch > 0 && o.height > 0 && o.width > 0 && o.channels > 0, Code::invalid_argument,
        "{}: an image of {} x {} x {} x {} is empty", op, o.batch, o.height, o.width, o.channels);
  check(w.kernel_h > 0 && w.kernel_w > 0 && w.stride_h > 0 && w.stride_w > 0 && w.dilation_h > 0 && w.dilation_w > 0,
        Code::invalid_argument, "{}: kernel {} x {}, stride {} x {} and dilation {} x {} must be positive", op,
        w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w);
  constexpr std::int64_t kMost = 1 << 24;                     // far beyond any image, and small enough to be multiplied
  const Shape image{o.batch, o.height, o.width, o.channels};  // refuses what cannot be counted
  for (const std::int64_t each : {image[1], image[2], w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                                  w.dilation_w, w.top, w.bottom, w.left, w.right})
    check(each <= kMost, Code::invalid_argument, "{}: an image or window of {} pixels a side is too large", op, each);
  check(w.top >= 0 && w.bottom >= 0 && w.left >= 0 && w.right >= 0, Code::invalid_argument,
        "{}: padding ({}, {}, {}, {}) must not be negative", op, w.top, w.bottom, w.left, w.right);
  check(std::max(w.top, w.bottom) <= w.kernel_h / 2 && std::max(w.left, w.right) <= w.kernel_w / 2,
        Code::invalid_argument, "{}: padding ({}, {}, {}, {}) should not exceed half of the kernel size ({}, {})", op,
        w.top, w.bottom, w.left, w.right, w.kernel_h, w.kernel_w);
  check(w.dilation_h * (w.kernel_h - 1) < o.height + w.top + w.bottom &&
            w.dilation_w * (w.kernel_w - 1) < o.width + w.left + w.right,
        Code::invalid_argument, "{}: a window of {} x {} (dilation {} x {}) is larger than the padded image of {} x {}",
        op, w.kernel_h, w.kernel_w, w.dilation_h, w.dilation_w, o.height + w.top + w.bottom,
        o.width + w.left + w.right);
  check(!o.divisor_override || *o.divisor_override > 0, Code::invalid_argument,
        "{}: divisor_override {} must be positive", op, o.divisor_override.value_or(0));
}

void check_types(std::string_view op, const TensorSpec& x, const PoolOptions& o) {
  const Shape& shape = x.logical_shape();
  const Extent2d matrix = shape.as_2d();
  check(matrix.height == o.batch * o.height * o.width && matrix.width == o.channels, Code::invalid_argument,
        "{}: an input of shape {} does not hold {} images of {} x {} x {}", op, shape.to_string(), o.batch, o.height,
        o.width, o.channels);
  check(x.dtype() == DType::bfloat16 || x.dtype() == DType::bfloat8_b || x.dtype() == DType::bfloat4_b,
        Code::unsupported, Hint{"use typecast"}, "{}: only BFLOAT16 and block floats are supported, not {}", op,
        name(x.dtype()));
  check(o.dtype == DType::bfloat16 || is_block_float(o.dtype), Code::unsupported,
        "{}: only BFLOAT16, BFLOAT8_B and BFLOAT4_B outputs are supported, not {}", op, name(o.dtype));
  check(!is_block_float(o.dtype) || o.layout == Layout::tile, Code::unsupported, Hint{"pass output_layout"},
        "{}: {} outputs need TILE layout", op, name(o.dtype));
}

PoolValues values_problem(const PoolOptions& o) {
  return {.batch = o.batch,
          .height = o.height,
          .width = o.width,
          .channels = o.channels,
          .window = o.window,
          .ceil_mode = o.ceil_mode,
          .compute = o.compute.value_or(ComputeConfig{}),
          .count_include_pad = o.count_include_pad,
          .divisor_override = o.divisor_override};
}

std::vector<float> pooled(PoolKind kind, const PoolOptions& o, const DeviceTensor& x) {
  const std::vector<float> image = read_pages(x).to_float32();
  return kind == PoolKind::max ? max_pool_values(values_problem(o), image)
                               : average_pool_values(values_problem(o), image);
}

AllocationRequest on_each(std::int64_t bytes, std::int64_t cores) {
  return {bytes, bytes * cores, static_cast<int>(cores)};
}

std::vector<CircularBuffer> on_cores(const std::vector<PlannedBuffer>& buffers, const CoreRangeSet& cores) {
  std::vector<CircularBuffer> out;
  for (const PlannedBuffer& b : buffers) out.push_back({b.name, cores, b.bytes});
  return out;
}

// The whole image under one window: a reduction, which leaves the tensor where it is.
bool is_global(PoolKind kind, const TensorSpec& x, const PoolOptions& o) {
  const Window& w = o.window;
  return kind == PoolKind::average && !x.memory_config().is_sharded() && !o.scheme && w.kernel_h == o.height &&
         w.kernel_w == o.width && w.top + w.bottom + w.left + w.right == 0 && !o.divisor_override;
}

struct Slots {
  MemorySteps::Slot result = 0;
};

// As TTNN goes about it: shards, halo, the input's shards freed, the halo moved up, the pool, the halo freed, and the
// result moved to where it was wanted.
Slots pool_steps(MemorySteps& steps, std::string_view op, const DeviceTensor& x, const PoolPlan& plan,
                 const PoolProblem& problem, const PoolOptions& options) {
  const TensorSpec& from = x.spec();
  const TensixSpec& card = x.device()->card();
  const std::int64_t cores = plan.parallel.cores.num_cores();
  const Window& w = plan.window.window;
  const std::string key =
      fmt::format("{} {}x{}x{}x{} k{}x{} s{}x{} d{}x{} p{},{},{},{} {} {} {} {} {} {} {}x{}", op, options.batch,
                  options.height, options.width, options.channels, w.kernel_h, w.kernel_w, w.stride_h, w.stride_w,
                  w.dilation_h, w.dilation_w, w.top, w.bottom, w.left, w.right, name(from.dtype()), name(from.layout()),
                  name(options.dtype), name(options.layout), name(plan.parallel.layout),
                  plan.parallel.cores.to_string(), plan.input_shard.height, plan.input_shard.width);
  const auto list = [&](const char* label, std::int64_t bytes) {
    return MemorySteps::KeptList{label, BufferType::l1_small, on_each(round_up(bytes, card.l1_alignment_bytes), cores)};
  };
  const auto moved = [](MemoryKind source, MemoryKind target, std::int64_t bytes, std::int64_t pieces,
                        std::int64_t busiest,
                        std::int64_t local = 0) { return Transfer{source, target, bytes, pieces, local, busiest}; };

  const auto run = [&](const std::string& name_of, const std::string& detail, std::vector<MemorySteps::KeptList> lists,
                       std::vector<CircularBuffer> buffers, const Transfer& transfer) {
    steps.run({.op = name_of,
               .key = name_of + " " + key,
               .lists = std::move(lists),
               .circular_buffers = std::move(buffers),
               .record = {name_of, detail, {transfer}}});
  };

  const MemorySteps::Slot input = steps.existing(x);
  const bool sharded = problem.input_shard.has_value(), in_dram = from.memory_config().is_dram();
  bool copied = !sharded;
  MemorySteps::Slot copy = input;
  if (!sharded) {
    const std::int64_t bytes = plan.input_shard.height * plan.input_shard.width;
    const std::int64_t shard_bytes = from.layout() == Layout::tile ? bytes / (kTile * kTile) * tile_bytes(from.dtype())
                                                                   : bytes * element_bytes(from.dtype());
    copy = steps.allocate("sharded input", BufferType::l1, on_each(shard_bytes, cores));
    const MemoryKind source = memory_kind(from.memory_config().buffer_type());
    run("interleaved_to_sharded", plan.input_memory().to_string(), {}, {},
        moved(source, MemoryKind::l1, x.num_pages() * x.page_bytes(), x.num_pages(), shard_bytes));
  }
  const HaloPlan& h = plan.halo;
  const MemorySteps::Slot halo = steps.allocate("halo", BufferType::l1, on_each(h.out_bytes_per_core(), cores));
  std::vector<MemorySteps::KeptList> lists;
  for (const std::int64_t bytes : h.config_bytes) lists.push_back(list("halo list", bytes));
  const std::int64_t across = plan.parallel.channel_parts;
  run("halo", fmt::format("{} sticks of {} B on a core", h.out_sticks, h.stick_bytes), std::move(lists),
      on_cores(h.circular_buffers, plan.parallel.cores),
      moved(MemoryKind::l1, MemoryKind::l1, (h.local_sticks + h.remote_sticks) * h.stick_bytes * across,
            h.pieces * across, h.busiest_core_sticks * h.stick_bytes, h.local_sticks * h.stick_bytes * across));
  if (copied && (in_dram || options.deallocate_input)) {
    steps.free(copy);
    copied = false;
  }
  if (options.deallocate_input && !in_dram) steps.free(input);
  if (options.reallocate_halo)
    steps.reallocate(halo, "move " + key,
                     {"move",
                      "halo",
                      {moved(MemoryKind::l1, MemoryKind::l1, cores * h.out_bytes_per_core(), cores,
                             h.out_bytes_per_core(), cores * h.out_bytes_per_core())}});

  const std::int64_t out_rows = plan.window.out_rows();
  const Shape shape{1, 1, out_rows, options.channels};
  // In rows, shards may be wider than what is in them: the tensor shows its own channels only.
  Extent2d visible = plan.output_shard;
  const bool hides = options.layout == Layout::row_major &&
                     plan.parallel.layout == TensorMemoryLayout::height_sharded && visible.width != options.channels;
  if (hides) visible.width = options.channels;
  const MemoryConfig place(plan.parallel.layout, BufferType::l1,
                           ShardSpec{plan.parallel.cores, visible, plan.parallel.orientation});
  const TensorSpec spec(shape, options.dtype, options.layout, place);
  const MemorySteps::Slot out =
      hides ? steps.allocate(
                  spec, "output",
                  on_each(plan.output_shard.height *
                              round_up(plan.output_shard.width * element_bytes(options.dtype), card.l1_alignment_bytes),
                          cores))
            : steps.allocate(spec, "output");
  const std::int64_t windows = out_rows * w.kernel_h * w.kernel_w * options.channels * element_bytes(DType::bfloat16);
  run(std::string(op), from.logical_shape().to_string(), {list("windows", plan.reader_bytes)},
      on_cores(plan.buffers, plan.parallel.cores),
      moved(MemoryKind::l1, MemoryKind::l1, windows, out_rows * w.kernel_h, windows / cores, windows));
  MemorySteps::Slot result = out;
  if (options.memory_config && *options.memory_config != place) {
    const TensorSpec target(shape, options.dtype, options.layout, *options.memory_config);
    result = steps.allocate(target, "result");
    const std::int64_t bytes = target.num_pages() * target.page_bytes();
    run("sharded_to_interleaved", options.memory_config->to_string(), {}, {},
        moved(MemoryKind::l1, memory_kind(options.memory_config->buffer_type()), bytes, target.num_pages(),
              bytes / cores));
    steps.free(out);
  }
  steps.free(halo);
  if (copied) steps.free(copy);
  return {result};
}

}  // namespace

DeviceTensor pool2d(PoolKind kind, DeviceTensor& x, const PoolOptions& options) {
  const std::string_view op = op_name(kind);
  x.check_allocated();
  check_window(op, options);
  check_types(op, x.spec(), options);
  const TensorSpec& from = x.spec();
  const std::shared_ptr<Device> device = x.device();
  if (is_global(kind, from, options)) {
    const Shape shape{1, 1, options.batch, options.channels};
    const MemoryConfig place = options.memory_config.value_or(from.memory_config());
    DeviceTensor y = DeviceTensor::allocate(device, TensorSpec(shape, options.dtype, options.layout, place));
    std::vector<Transfer> moved = stream_transfers(x, y);
    write_pages(
        Tensor::from_float32(pooled(kind, options, x), shape, options.dtype, options.layout, {}, Rounding::packer), y);
    finish_program({std::string(op), from.logical_shape().to_string(), std::move(moved)}, {&x}, y);
    if (options.deallocate_input) x.deallocate();
    return y;
  }
  PoolProblem problem{.kind = kind,
                      .batch = options.batch,
                      .height = options.height,
                      .width = options.width,
                      .channels = options.channels,
                      .window = options.window,
                      .ceil_mode = options.ceil_mode,
                      .count_include_pad = options.count_include_pad,
                      .divisor_override = options.divisor_override.has_value(),
                      .input_dtype = from.dtype(),
                      .output_dtype = options.dtype,
                      .input_layout = from.layout(),
                      .output_layout = options.layout,
                      .grid = device->grid()};
  const bool sharded = from.memory_config().is_sharded();
  if (sharded) {
    check(from.memory_config().is_l1() && from.memory_config().shard_spec(), Code::unsupported,
          Hint{"use to_memory_config"}, "{}: shards must be in L1", op);
    problem.layout = from.memory_config().layout();
    problem.input_shard = from.memory_config().shard_spec();
    check(problem.input_shard->shape.width % 16 == 0, Code::invalid_argument,
          "{}: the input's shard width {} must be a multiple of 16", op, problem.input_shard->shape.width);
  }
  if (options.scheme) problem.layout = *options.scheme;
  const PoolPlan plan = sharded || options.scheme ? plan_pool(problem) : plan_pool_anywhere(problem);
  const std::vector<float> values = pooled(kind, options, x);

  MemorySteps steps(device);
  const Slots slots = pool_steps(steps, op, x, plan, problem, options);
  steps.rehearse();
  DeviceTensor y = *steps.carry_out()[slots.result];
  const TensorSpec& to = y.spec();
  write_pages(Tensor::from_float32(values, to.logical_shape(), to.dtype(), to.layout(), to.tile(), Rounding::packer),
              y);
  return y;
}

DeviceTensor global_avg_pool2d(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& in = from.logical_shape();
  const int rank = in.rank();
  check(rank >= 2 && rank <= 4, Code::invalid_argument,
        "global_avg_pool2d: an image of rank 4 [n, h, w, c], 3 [h, w, c] or 2 [h, w] is expected, not {}",
        in.to_string());
  check(in.volume() > 0, Code::invalid_argument, "global_avg_pool2d: the image {} is empty", in.to_string());
  check(is_floating(from.dtype()), Code::unsupported, Hint{"use typecast"}, "global_avg_pool2d: {} is not supported",
        name(from.dtype()));
  check(!from.memory_config().is_sharded() || config, Code::unsupported, Hint{"pass a memory_config"},
        "global_avg_pool2d: where the result of a {} image goes must be said", name(from.memory_config().layout()));
  const PoolOptions options{.batch = rank == 4 ? in[0] : 1,
                            .height = in[rank == 4 ? 1 : 0],
                            .width = in[rank == 4 ? 2 : 1],
                            .channels = rank == 2 ? 1 : in[rank - 1],
                            .window = {.kernel_h = in[rank == 4 ? 1 : 0], .kernel_w = in[rank == 4 ? 2 : 1]}};
  // Rows of tiles that are filled up are taken out of them before they are summed.
  std::optional<DeviceTensor> rows;
  if (from.layout() == Layout::tile && from.padded_shape() != in) rows = to_layout(x, Layout::row_major);
  const DeviceTensor& image = rows ? *rows : x;
  const Shape shape{options.batch, 1, 1, options.channels};
  DeviceTensor y = DeviceTensor::allocate(
      x.device(), TensorSpec(shape, from.dtype(), Layout::tile, config.value_or(from.memory_config())));
  const std::vector<float> values = average_pool_values(values_problem(options), read_pages(image).to_float32());
  std::vector<Transfer> moved = stream_transfers(image, y);
  write_pages(Tensor::from_float32(values, shape, from.dtype(), Layout::tile, {}, Rounding::packer), y);
  finish_program({"global_avg_pool2d", in.to_string(), std::move(moved)}, {&image}, y);
  return y;
}

}  // namespace tessera::tensix
