#include "tessera/targets/tensix/ops/pool/pool.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/compute_defaults.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/pool/pool_global.h"
#include "tessera/targets/tensix/ops/pool/pool_steps.h"
#include "tessera/targets/tensix/ops/pool/pool_values.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

#include <fmt/format.h>

namespace tessera::tensix {
namespace {

std::string_view op_name(PoolKind kind) { return kind == PoolKind::max ? "max_pool2d" : "avg_pool2d"; }

void check_window(std::string_view op, const PoolOptions& o) {
  const SlidingWindow& w = o.window;
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

// Averages over windows that are reduced in parts are added up in float32.
ComputeConfig compute_of(PoolKind kind, const PoolOptions& o) {
  constexpr std::int64_t kSticksAtOnce = 32;
  ComputeConfig compute;
  compute.fp32_dest_acc_en =
      kind == PoolKind::average && std::int64_t{o.window.kernel_h} * o.window.kernel_w > kSticksAtOnce;
  return o.compute.value_or(compute);
}

PoolValues values_problem(PoolKind kind, const PoolOptions& o) {
  return {.batch = o.batch,
          .height = o.height,
          .width = o.width,
          .channels = o.channels,
          .window = o.window,
          .ceil_mode = o.ceil_mode,
          .compute = compute_of(kind, o),
          .count_include_pad = o.count_include_pad,
          .divisor_override = o.divisor_override};
}

std::vector<float> pooled(PoolKind kind, const PoolOptions& o, const DeviceTensor& x) {
  const std::vector<float> image = read_pages(x).to_float32();
  return kind == PoolKind::max ? max_pool_values(values_problem(kind, o), image)
                               : average_pool_values(values_problem(kind, o), image);
}

PoolProblem problem_of(PoolKind kind, const DeviceTensor& x, const PoolOptions& o) {
  const TensorSpec& from = x.spec();
  PoolProblem problem{.kind = kind,
                      .batch = o.batch,
                      .height = o.height,
                      .width = o.width,
                      .channels = o.channels,
                      .window = o.window,
                      .ceil_mode = o.ceil_mode,
                      .count_include_pad = o.count_include_pad,
                      .divisor_override = o.divisor_override.has_value(),
                      .input_dtype = from.dtype(),
                      .output_dtype = o.dtype,
                      .input_layout = from.layout(),
                      .output_layout = o.layout,
                      .grid = x.device()->grid()};
  if (from.memory_config().is_sharded()) {
    check(from.memory_config().is_l1() && from.memory_config().shard_spec(), Code::unsupported,
          Hint{"use to_memory_config"}, "{}: shards must be in L1", op_name(kind));
    problem.layout = from.memory_config().layout();
    problem.input_shard = from.memory_config().shard_spec();
    check(problem.input_shard->shape.width % 16 == 0, Code::invalid_argument,
          "{}: the input's shard width {} must be a multiple of 16", op_name(kind), problem.input_shard->shape.width);
  }
  if (o.scheme) problem.layout = *o.scheme;
  return problem;
}

PoolPlan plan_of(const PoolProblem& problem, const PoolOptions& options) {
  return problem.input_shard || options.scheme ? plan_pool(problem) : plan_pool_anywhere(problem);
}

struct PoolCall {
  MemorySteps steps;
  PoolSlots slots;
  std::int64_t estimate_bytes = 0;  // what TTNN takes the largest slice for, on a core

  void take(const PoolPlan& plan, const PoolProblem& p) {
    const std::int64_t elements = plan.output_shard.height * plan.output_shard.width;
    std::int64_t bytes = plan.halo.out_bytes_per_core() + elements * element_bytes(DType::bfloat16) +
                         plan.input_shard.height * plan.input_shard.width *
                             (p.input_layout == Layout::tile ? 2 : element_bytes(p.input_dtype));
    for (const PlannedBuffer& buffer : plan.buffers) bytes += buffer.bytes;
    estimate_bytes = std::max(estimate_bytes, bytes);
  }
  // None: it fits. Input, halo and output are counted together first, as if none had gone before the next came.
  std::optional<Refusal> why_not(const Device& device, PoolKind kind) const {
    const std::int64_t free_bytes = free_l1_bytes(device);
    if (estimate_bytes > free_bytes)
      return Refusal{.message = fmt::format("{}: {} B of L1 on a core do not fit", op_name(kind), estimate_bytes),
                     .code = Code::out_of_memory,
                     .shortage = Shortage::l1,
                     .requested_bytes = estimate_bytes,
                     .free_bytes = free_bytes,
                     .largest_free_bytes = free_bytes};
    const Result<MemoryStory> story = steps.rehearse();
    return story ? std::nullopt : std::optional(story.refusal());
  }
};

PoolCall whole_call(const DeviceTensor& x, const PoolProblem& problem, const PoolOptions& options) {
  PoolCall call{MemorySteps(x.device()), {}};
  const PoolPlan plan = plan_of(problem, options);
  call.take(plan, problem);
  call.slots = add_pool_steps(call.steps, x, plan, problem, options);
  return call;
}

// The same window over the same image: its slices are those of a convolution.
Conv2dProblem as_convolution(const PoolProblem& problem) {
  Conv2dProblem p;
  p.batch = problem.batch;
  p.height = problem.height;
  p.width = problem.width;
  p.in_channels = p.out_channels = problem.channels;
  p.window = rounded_window(problem);
  p.config.output_layout = problem.output_layout;
  return p;
}

PoolCall sliced_call(const DeviceTensor& x, const PoolProblem& problem, const PoolOptions& options,
                     Conv2dSliceType type, std::int64_t count) {
  const bool rows = type == Conv2dSliceType::dram_height;
  const SlidingWindow& w = problem.window;
  const std::int64_t thinnest = (rows ? problem.height : problem.width) / count;
  const std::int64_t reach = rows ? w.dilation_h * (w.kernel_h - 1) + 1 : w.dilation_w * (w.kernel_w - 1) + 1;
  check(thinnest >= reach, Code::invalid_argument, Hint{"take fewer slices, or slice the other axis"},
        "{}: {} slices of an image of {}x{} are {} pixels {}, less than the {} of a window", op_name(problem.kind),
        count, problem.height, problem.width, thinnest, rows ? "high" : "wide", reach);
  const std::vector<Conv2dProblem> slices = slice_conv2d(as_convolution(problem), type, count);
  PoolCall call{MemorySteps(x.device()), {}};
  const SlidingWindow whole = rounded_window(problem);
  const Shape shape{problem.batch, whole.out_h(problem.height), whole.out_w(problem.width), problem.channels};
  PoolSliceOf of{call.steps.existing(x), 0};
  of.output = call.steps.allocate(TensorSpec(shape, options.dtype, options.layout, kDramMemoryConfig), "output");
  PoolOptions each = options;
  for (const Conv2dProblem& slice : slices) {
    PoolProblem p = problem;
    p.height = slice.height;
    p.width = slice.width;
    p.window = slice.window;
    p.ceil_mode = false;
    p.rows_of_tiles = problem.input_layout == Layout::tile;
    p.input_layout = Layout::row_major;
    p.input_dtype = DType::bfloat16;
    if (each.scheme) p.layout = *each.scheme;
    const PoolPlan plan = plan_of(p, each);
    each.scheme = plan.parallel.layout;  // all slices lie as the first does
    call.take(plan, p);
    call.slots = add_pool_steps(call.steps, x, plan, p, options, of);
  }
  return call;
}

// Whole, or in the slices that were asked for, or in as few as fit.
PoolCall call_pool(const DeviceTensor& x, const PoolProblem& problem, const PoolOptions& options) {
  const bool can_slice = x.spec().memory_config() == kDramMemoryConfig && !problem.indices;
  const std::optional<Conv2dSliceConfig> asked = can_slice ? options.slice : Conv2dSliceConfig{};
  if (asked && (asked->type == Conv2dSliceType::l1_full || asked->num_slices == 1))
    return whole_call(x, problem, options);
  if (asked && asked->num_slices != 0) {
    check(asked->num_slices > 0, Code::invalid_argument, "{}: num_slices is {}", op_name(problem.kind),
          asked->num_slices);
    return sliced_call(x, problem, options, asked->type, asked->num_slices);
  }
  const auto fitting = [&](Result<PoolCall> call) -> Result<PoolCall> {
    if (!call) return call;
    if (std::optional<Refusal> refusal = call->why_not(*x.device(), problem.kind)) return std::move(*refusal);
    return call;
  };
  Result<PoolCall> whole = fitting(attempt([&] { return whole_call(x, problem, options); }));
  if (whole || !whole.refusal().out_of_memory()) return std::move(whole).value();
  const Conv2dProblem image = as_convolution(problem);
  const Conv2dSliceType type = asked ? asked->type : natural_slice_type(image);
  for (std::int64_t count = 2; count <= most_slices(image, type); ++count) {
    Result<PoolCall> sliced = fitting(attempt([&] { return sliced_call(x, problem, options, type, count); }));
    if (sliced) return std::move(sliced).value();
    if (!sliced.refusal().out_of_memory()) break;  // thinner than a window
  }
  raise(whole.refusal());
}

std::pair<DeviceTensor, std::optional<DeviceTensor>> run(PoolKind kind, DeviceTensor& x, const PoolOptions& options,
                                                         bool with_indices) {
  PoolProblem problem = problem_of(kind, x, options);
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 16;
  if (with_indices) problem.indices = options.height * options.width < kMostPixels ? DType::uint16 : DType::uint32;
  const PoolCall call = call_pool(x, problem, options);
  if (const Result<MemoryStory> story = call.steps.rehearse(); !story) raise(story.refusal());
  // Computed before the input may be freed; the slices of an image come to the same as the whole.
  std::vector<float> values;
  std::vector<std::uint32_t> where;
  if (x.device()->options().values) {
    values = pooled(kind, options, x);
    if (with_indices) where = max_pool_indices(values_problem(kind, options), read_pages(x).to_float32());
  }
  std::vector<std::optional<DeviceTensor>> tensors = call.steps.carry_out();
  DeviceTensor y = *tensors[call.slots.result];
  write_values(y, [&, &to = y.spec()] {
    return Tensor::from_float32(values, to.logical_shape(), to.dtype(), to.layout(), to.tile(), Rounding::packer);
  });
  if (!with_indices) return {y, std::nullopt};
  DeviceTensor indices = *tensors[*call.slots.indices];
  write_values(indices, [&, &to = indices.spec()] {
    return Tensor::from_elements(std::as_bytes(std::span(where)), DType::uint32, to.logical_shape(), to.dtype(),
                                 to.layout());
  });
  return {y, indices};
}

}  // namespace

DeviceTensor pool2d(PoolKind kind, DeviceTensor& x, const PoolOptions& options) {
  const std::string_view op = op_name(kind);
  x.check_allocated();
  check_window(op, options);
  check_types(op, x.spec(), options);
  if (is_global(kind, x.spec(), options)) {
    DeviceTensor y = global_average(x, options, [&] { return pooled(kind, options, x); });
    if (options.deallocate_input) x.deallocate();
    return y;
  }
  return run(kind, x, options, false).first;
}

std::pair<DeviceTensor, DeviceTensor> max_pool2d_with_indices(DeviceTensor& x, const PoolOptions& options) {
  x.check_allocated();
  check_window("max_pool2d", options);
  check_types("max_pool2d", x.spec(), options);
  check(options.layout == Layout::row_major, Code::unsupported, Hint{"use to_layout afterwards"},
        "max_pool2d: only ROW_MAJOR is supported with return_indices");
  check(options.dtype == DType::bfloat16, Code::unsupported, "max_pool2d: only BFLOAT16 goes with return_indices");
  auto [values, indices] = run(PoolKind::max, x, options, true);
  return {values, *indices};
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
  const PoolOptions options{.batch = rank == 4 ? in[0] : 1,
                            .height = in[rank == 4 ? 1 : 0],
                            .width = in[rank == 4 ? 2 : 1],
                            .channels = rank == 2 ? 1 : in[rank - 1],
                            .window = {.kernel_h = in[rank == 4 ? 1 : 0], .kernel_w = in[rank == 4 ? 2 : 1]},
                            .compute = precise_compute(x.device()->card())};
  // Rows of tiles that are filled up are taken out of them before they are summed.
  std::optional<DeviceTensor> rows;
  if (from.layout() == Layout::tile && from.padded_shape() != in) rows = to_layout(x, Layout::row_major);
  const DeviceTensor& image = rows ? *rows : x;
  const Shape shape{options.batch, 1, 1, options.channels};
  // Of shards the result is interleaved in their memory.
  const MemoryConfig place(TensorMemoryLayout::interleaved, from.memory_config().buffer_type());
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(shape, from.dtype(), Layout::tile, config.value_or(place)));
  std::vector<Transfer> moved = stream_transfers(image, y);
  write_values(y, [&] {
    return Tensor::from_float32(
        average_pool_values(values_problem(PoolKind::average, options), read_pages(image).to_float32()), shape,
        from.dtype(), Layout::tile, {}, Rounding::packer);
  });
  finish_program({ProgramKind::reduce, in.to_string(), std::move(moved), nullptr, "global_avg_pool2d"}, {&image}, y);
  return y;
}

}  // namespace tessera::tensix
