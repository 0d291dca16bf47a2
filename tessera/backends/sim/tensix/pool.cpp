#include "tessera/backends/sim/tensix/pool.h"

#include "tessera/backends/sim/tensix/placement.h"
#include "tessera/backends/sim/tensix/pool_values.h"
#include "tessera/core/error.h"
#include "tessera/machine/ops/program.h"
#include "tessera/machine/ops/to_layout.h"
#include "tessera/machine/ops/to_memory_config.h"
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
  return {.batch = o.batch, .height = o.height, .width = o.width, .channels = o.channels, .window = o.window,
          .ceil_mode = o.ceil_mode, .compute = o.compute.value_or(ComputeConfig{}),
          .count_include_pad = o.count_include_pad, .divisor_override = o.divisor_override};
}

std::vector<float> pooled(PoolKind kind, const PoolOptions& o, const DeviceTensor& x) {
  const std::vector<float> image = read_pages(x).to_float32();
  return kind == PoolKind::max ? max_pool_values(values_problem(o), image) : average_pool_values(values_problem(o), image);
}

// Small sharded tensors that tell cores what to do; they live while the programs run.
std::shared_ptr<Buffer> config_tensor(const std::shared_ptr<Device>& device, std::int64_t bytes, std::int64_t cores) {
  const std::int64_t aligned = round_up(bytes, device->allocator().page_alignment_bytes(BufferType::l1_small));
  return device->allocate(BufferType::l1_small, {aligned, aligned * cores, static_cast<int>(cores)},
                          {"sliding window config", {}});
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
    write_pages(Tensor::from_float32(pooled(kind, options, x), shape, options.dtype, options.layout, {},
                                     Rounding::packer),
                y);
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
  const std::int64_t cores = plan.parallel.cores.num_cores();

  // An image from DRAM is copied into shards, which are gone once the halo has gathered them.
  const bool from_dram = !sharded && from.memory_config().is_dram();
  std::optional<DeviceTensor> copy;
  const Shape flat{1, 1, problem.in_rows(), options.channels};
  if (!sharded) {
    copy = DeviceTensor::allocate(device, TensorSpec(flat, from.dtype(), from.layout(), plan.input_memory()));
    note_copy:
    copy = std::move(copy);
  }
  std::vector<std::shared_ptr<Buffer>> configs;
  for (const std::int64_t bytes : plan.halo.config_bytes)
    if (bytes > 0) configs.push_back(config_tensor(device, bytes, cores));
  const auto gather = [&] {
    return DeviceTensor::allocate(
        device, TensorSpec(Shape{1, 1, plan.halo.out_sticks * plan.parallel.row_parts,
                                 plan.input_shard.width * plan.parallel.channel_parts},
                           DType::bfloat16, Layout::row_major,
                           MemoryConfig(plan.parallel.layout, BufferType::l1,
                                        ShardSpec{plan.parallel.cores, {plan.halo.out_sticks, plan.input_shard.width},
                                                  plan.parallel.orientation})));
  };
  std::optional<DeviceTensor> halo = gather();
  check_program_fits(*device, on_cores(plan.halo.circular_buffers, plan.parallel.cores));
  if (copy && from_dram) copy.reset();
  // TODO-free: a deallocated input makes room before the halo is moved.
  return *halo;
}

}  // namespace tessera::tensix
