#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_auto_shard.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_blocks.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_buffers.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_check.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_parallel.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tessera::tensix {
namespace {

bool is_product(const Conv2dProblem& problem) {
  return problem.window == SlidingWindow{} && problem.config.shard_layout != TensorMemoryLayout::width_sharded;
}

// A window that steps by its own size is a 1x1 window over an image folded into its channels.
bool folds_by_itself(const Conv2dProblem& problem) {
  const SlidingWindow& w = problem.window;
  if (w.stride_h != w.kernel_h || w.stride_w != w.kernel_w || (w.stride_h == 1 && w.stride_w == 1)) return false;
  if (w.dilation_h != 1 || w.dilation_w != 1) return false;
  if ((problem.height + w.top + w.bottom) % w.stride_h != 0 || (problem.width + w.left + w.right) % w.stride_w != 0)
    return false;
  const bool padded = w.top + w.bottom + w.left + w.right > 0;
  const MemoryConfig& memory = problem.input_memory;
  return (memory.is_dram() && (problem.input_layout == Layout::row_major || !padded)) ||
         memory.layout() == TensorMemoryLayout::height_sharded;
}

void fold(Conv2dPlan& plan) {
  Conv2dProblem& p = plan.problem;
  const SlidingWindow w = p.window;
  const bool wanted = p.config.enable_kernel_stride_folding.value_or(folds_by_itself(p));
  p.config.enable_kernel_stride_folding = wanted;
  if (!wanted || (w.stride_h == 1 && w.stride_w == 1)) return;
  const std::int64_t height = p.height + w.top + w.bottom, width = p.width + w.left + w.right;
  const Hint off{"leave enable_kernel_stride_folding off"};
  check(height % w.stride_h == 0, Code::invalid_argument, off,
        "Padded input height ({}) must be divisible by stride ({}) for kernel stride folding.", height, w.stride_h);
  check(width % w.stride_w == 0, Code::invalid_argument, off,
        "Padded input width ({}) must be divisible by stride ({}) for kernel stride folding.", width, w.stride_w);
  check(w.stride_h <= w.kernel_h && w.stride_w <= w.kernel_w, Code::invalid_argument, off,
        "Conv2D kernel stride folding: Stride must be less than or equal to kernel size: stride {}x{}, kernel {}x{}",
        w.stride_h, w.stride_w, w.kernel_h, w.kernel_w);
  check(p.input_layout == Layout::row_major || (w.top == 0 && w.left == 0), Code::unsupported,
        Hint{"give it a row-major input, or leave enable_kernel_stride_folding off"},
        "on device tile padding does not support front padding: folding pads {} rows above and {} columns before the "
        "image",
        w.top, w.left);
  plan.folded = true;
  if (is_block_float(p.input_dtype)) p.input_dtype = DType::bfloat16;  // folding goes row by row
  if (const auto& shards = p.input_memory.shard_spec()) {
    const std::int64_t step = w.stride_h * w.stride_w;
    p.input_memory =
        MemoryConfig(p.input_memory.layout(), p.input_memory.buffer_type(),
                     ShardSpec{shards->grid,
                               {std::max<std::int64_t>(shards->shape.height / step, 1), shards->shape.width * step},
                               shards->orientation});
  }
  plan.as_matmul = w.kernel_h == w.stride_h && w.kernel_w == w.stride_w;
  p.height = height / w.stride_h;
  p.width = width / w.stride_w;
  p.in_channels *= w.stride_h * w.stride_w;
  p.window = {.kernel_h = ceil_div(w.kernel_h, w.stride_h),
              .kernel_w = ceil_div(w.kernel_w, w.stride_w),
              .dilation_h = w.dilation_h,
              .dilation_w = w.dilation_w};
}

const ShardSpec* input_shards(const Conv2dProblem& problem) {
  const auto& spec = problem.input_memory.shard_spec();
  return spec ? &*spec : nullptr;
}

// Whether shards that are there already cannot be used as they are.
bool must_reshard(const Conv2dPlan& plan, const ShardSpec& shards, TensorMemoryLayout& wanted) {
  const Conv2dProblem& p = plan.problem;
  const TensorMemoryLayout layout = p.input_memory.layout();
  const std::int64_t alignment = channel_alignment(layout, p.input_layout, plan.as_matmul, shards.shape);
  bool must = layout != TensorMemoryLayout::block_sharded && shards.orientation != ShardOrientation::row_major;
  must |= shards.shape.width % alignment != 0;
  if (plan.as_matmul && layout == TensorMemoryLayout::block_sharded) {
    const Parallel there = parallel_over(layout, shards.grid, shards.orientation);
    if (p.in_channels != there.channel_parts * shards.shape.width) {
      must = true;
      wanted = layout;
    }
  }
  must |= plan.as_matmul && shards.shape.height % kTile != 0;
  if (p.config.override_sharding_config) {
    const bool transposed = shards.orientation == ShardOrientation::col_major;
    must |= *p.config.core_grid != shards.grid || wanted != layout ||
            (wanted == TensorMemoryLayout::block_sharded && p.config.transpose_shards != transposed);
  }
  return must;
}

void place_input(Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  const ShardSpec* shards = input_shards(p);
  TensorMemoryLayout wanted = p.config.shard_layout.value_or(TensorMemoryLayout::interleaved);
  std::optional<Parallel> there;
  bool moves = true;
  std::int64_t alignment = channel_alignment(TensorMemoryLayout::interleaved, p.input_layout, plan.as_matmul);
  if (shards != nullptr) {
    const TensorMemoryLayout layout = p.input_memory.layout();
    there = parallel_over(layout, shards->grid, shards->orientation);
    alignment = channel_alignment(layout, p.input_layout, plan.as_matmul, shards->shape);
    moves = must_reshard(plan, *shards, wanted);
  }
  if (moves || p.config.reshard_if_not_optimal) {
    check(wanted != TensorMemoryLayout::interleaved, Code::invalid_argument,
          Hint{"set shard_layout: the input's own shards cannot be used and nothing says how to deal them anew"},
          "Conv2d supports Height, Block or Width Sharded Layouts but got TensorMemoryLayout::INTERLEAVED");
    plan.input = choose_input_cores(p, wanted, alignment, plan.as_matmul, card);
    if (p.config.override_sharding_config) {
      const bool column_major = wanted == TensorMemoryLayout::block_sharded && p.config.transpose_shards;
      plan.input = parallel_over(wanted, *p.config.core_grid,
                                 column_major ? ShardOrientation::col_major : ShardOrientation::row_major);
    }
    moves |= plan.input != there;
  } else {
    plan.input = *there;
  }
  plan.moves_input = moves;
  plan.input_shard =
      moves ? input_shard_of(p, plan.input, channel_alignment(plan.input.layout, p.input_layout, plan.as_matmul))
            : shards->shape;
  plan.problem.config.shard_layout = plan.input.layout;
  plan.in_channels_padded =
      round_up(p.in_channels, plan.input.channel_parts * channel_alignment(plan.input.layout, p.input_layout,
                                                                           plan.as_matmul, plan.input_shard));
}

CoreGrid output_grid(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dConfig& config = plan.problem.config;
  const CoreGrid all{card.grid_y, card.grid_x};
  if (!config.override_output_sharding_config) return all;
  check_output_override(plan.problem, plan.input.layout);
  const CoreRange box = config.core_grid->bounding_box();
  const bool row_major = plan.input.orientation == ShardOrientation::row_major;
  check(
      (row_major ? box.rows() : box.columns()) == plan.input.row_parts, Code::invalid_argument,
      Hint{fmt::format("a core_grid with {} {} of cores has", plan.input.row_parts, row_major ? "rows" : "columns")},
      "NHW cores must match for input and output when overriding the grid size: the input has {}, core_grid {} has {}",
      plan.input.row_parts, config.core_grid->to_string(), row_major ? box.rows() : box.columns());
  return {box.rows(), box.columns()};
}

// A product leaves out the cores that get no rows; a convolution keeps them. Cores that get no channels stay.
void trim_product_cores(Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  Parallel& output = plan.output;
  if (output.layout == TensorMemoryLayout::width_sharded) return;
  const std::int64_t used = ceil_div(p.batch * p.out_h() * p.out_w(), plan.output_shard.height);
  if (used == output.row_parts) return;
  CoreRangeSet cores;
  if (output.layout == TensorMemoryLayout::block_sharded) {
    const CoreRange box = output.cores.bounding_box();
    const int last = static_cast<int>(used) - 1;
    const bool row_major = output.orientation == ShardOrientation::row_major;
    cores = CoreRange(box.start,
                      row_major ? CoreCoord{box.end.x, box.start.y + last} : CoreCoord{box.start.x + last, box.end.y});
  } else {
    const CoreCoord start = output.cores.ranges().front().start;
    cores = num_cores_to_corerangeset_in_subcoregrids(start, used, output.cores, true);
  }
  output = parallel_over(output.layout, cores, output.orientation);
}

void plan_product(Conv2dPlan& plan) {
  const std::int64_t tiles = ceil_div(plan.problem.in_channels, kTile);
  check(plan.in_channels_padded == tiles * kTile, Code::invalid_argument,
        Hint{fmt::format("take a core_grid whose {} cores along channels divide {} tiles", plan.input.channel_parts,
                         tiles)},
        "K dimension in tiles must match between input A ({}) and input B ({})", tiles,
        plan.in_channels_padded / kTile);
  trim_product_cores(plan);
  choose_product_buffers(plan);
}

// TTNN shards a folded image as it shards others and finds out later: by rows that are no whole tiles, by more cores
// than a row of the card has, or by the product itself.
void check_folded_width(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  if (!plan.folded || !plan.as_matmul || plan.input.layout != TensorMemoryLayout::width_sharded ||
      input_shards(p) != nullptr)
    return;
  const Hint other{"take another shard_layout, or switch enable_kernel_stride_folding off"};
  const std::int64_t rows = p.batch * p.height * p.width;
  check(rows % kTile == 0, Code::invalid_argument, other,
        "Physical shard shape ({}, {}) must be tile {{32, 32}} sized!", rows, plan.input_shard.width);
  check(plan.input.channel_parts <= card.grid_x, Code::invalid_argument, other,
        "Invalid shard grid: shard core ({}, 0) has no L1 bank on this device, which has {} of them.", card.grid_x,
        card.grid_x * card.grid_y);
  fail(Code::unsupported, other,
       "MatmulMultiCoreReuseMultiCastProgramConfig: Unsupported memory layout TensorMemoryLayout::WIDTH_SHARDED.");
}

}  // namespace

std::int64_t Conv2dPlan::circular_buffer_bytes() const {
  std::int64_t bytes = 0;
  for (const PlannedBuffer& buffer : circular_buffers) bytes += buffer.bytes;
  return bytes;
}

MemoryConfig Conv2dPlan::input_memory() const {
  return MemoryConfig(input.layout, BufferType::l1, ShardSpec{input.cores, input_shard, input.orientation});
}

MemoryConfig Conv2dPlan::output_memory() const {
  if (interleaved) return kDramMemoryConfig;
  return MemoryConfig(output.layout, BufferType::l1, ShardSpec{output.cores, output_shard, output.orientation});
}

Conv2dPlan outline_conv2d(const Conv2dProblem& problem, const TensixSpec& card) {
  check_conv2d_problem(problem, card);
  Conv2dPlan plan;
  plan.problem = problem;
  plan.as_matmul = is_product(problem);
  Conv2dProblem& p = plan.problem;
  fold(plan);
  if (p.config.enable_activation_reuse)
    p.config.enable_act_double_buffer = p.config.enable_weights_double_buffer = false;
  plan.depthwise_1d = is_depthwise_1d(p);
  if (input_shards(p) == nullptr && !p.config.shard_layout) {
    plan.auto_sharded = true;
    if (p.config.override_output_sharding_config) check_output_override(p, TensorMemoryLayout::height_sharded);
    p.config.shard_layout = choose_layout(p, plan.as_matmul, card);
  }
  place_input(plan, card);
  check_folded_width(plan, card);
  plan.output = choose_output_cores(plan.input, p.out_channels, output_grid(plan, card), plan.as_matmul);
  plan.output_shard = output_shard_of(p, plan.output);
  plan.out_channels_padded = plan.output_shard.width * plan.output.channel_parts;
  choose_blocks(plan, card);
  plan.weight_matrix = weight_matrix_of(plan);
  if (plan.as_matmul) {
    plan.interleaved = plan.auto_sharded;
    if (!plan.interleaved) plan_product(plan);
    return plan;
  }
  const SlidingWindow& w = p.window;
  plan.has_halo = plan.input.layout != TensorMemoryLayout::width_sharded || p.input_layout != Layout::row_major ||
                  w.top + w.bottom + w.left + w.right > 0;
  return plan;
}

Conv2dPlan plan_conv2d(const Conv2dProblem& problem, const TensixSpec& card) {
  Conv2dPlan plan = outline_conv2d(problem, card);
  if (plan.as_matmul) return plan;
  check_pages(plan);
  check_blocks(plan, card);
  choose_buffers(plan, card);
  check(!plan.problem.config.enable_activation_reuse || plan.split_reader ||
            plan.input.layout != TensorMemoryLayout::height_sharded,
        Code::unsupported, Hint{"leave force_split_reader open, or switch enable_activation_reuse off"},
        "DstActivation data reuse requires split reader to be on");
  check_reader_indices(plan);
  return plan;
}

Result<Conv2dPlan> try_outline_conv2d(const Conv2dProblem& problem, const TensixSpec& card) {
  return attempt([&] { return outline_conv2d(problem, card); });
}

Result<Conv2dPlan> try_plan_conv2d(const Conv2dProblem& problem, const TensixSpec& card) {
  return attempt([&] { return plan_conv2d(problem, card); });
}

}  // namespace tessera::tensix
