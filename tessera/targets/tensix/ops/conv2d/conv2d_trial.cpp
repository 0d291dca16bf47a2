#include "tessera/targets/tensix/ops/conv2d/conv2d_trial.h"

#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_buffers.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_check.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/halo/halo.h"
#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kAlignment = 16;

std::int64_t shard_bytes(const Extent2d& shard, DType dtype, Layout layout) {
  if (layout == Layout::tile) {
    const Extent2d padded = padded_to_tiles(shard, Tile{});
    return padded.area() / Tile{}.elements() * tile_bytes(Tile{}, dtype);
  }
  return shard.height * round_up(shard.width * element_bytes(dtype), kAlignment);
}

// The programs of a product of an input that stays interleaved: one that tilizes it, row of tiles by row of tiles, and
// the product itself.
std::int64_t interleaved_bytes(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  const std::int64_t depth = ceil_div(p.in_channels, kTile);
  std::int64_t multiply = 0;
  for (const CircularBuffer& buffer : plan_matmul(interleaved_product(plan, card)).own_buffers())
    multiply += buffer.bytes;
  const std::int64_t tilize = p.input_layout == Layout::tile ? 0 : 2 * depth * tile_bytes(Tile{}, p.input_dtype);
  return std::max(multiply, tilize);
}

// A product has its input, in tiles by then, and its output.
void take_product_sizes(Conv2dTrial& trial, const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dProblem& p = plan.problem;
  if (plan.interleaved) {
    trial.wanted_bytes = interleaved_bytes(plan, card);
    return;
  }
  trial.circular_buffer_bytes = plan.circular_buffer_bytes();
  trial.output_bytes = shard_bytes(plan.output_shard, p.output_dtype, Layout::tile);
  trial.input_bytes = shard_bytes(plan.input_shard, p.input_dtype, Layout::tile);
  trial.wanted_bytes =
      trial.input_bytes + std::max(trial.input_bytes, trial.output_bytes + trial.circular_buffer_bytes);
}

// Shards, in the order in which they come to be.
void take_shard_sizes(Conv2dTrial& trial, const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  trial.input_bytes = shard_bytes(plan.input_shard, p.input_dtype, p.input_layout);
  if (plan.has_halo) {
    const HaloPlan halo = plan_halo(halo_problem_of(p), plan.input, plan.input_shard, plan.output_shard.height,
                                    p.input_dtype, p.input_layout);
    trial.halo_bytes = halo.out_bytes_per_core();
    trial.wanted_bytes = trial.input_bytes + trial.halo_bytes;
    for (const PlannedBuffer& buffer : halo.circular_buffers) trial.wanted_bytes += buffer.bytes;
    if (!p.config.config_tensors_in_dram)
      for (const std::int64_t bytes : halo.config_bytes) trial.kept_bytes += round_up(bytes, kAlignment);
    trial.wanted_bytes += trial.kept_bytes;
    check_pages(plan);
  }
  trial.output_bytes = shard_bytes(plan.output_shard, p.output_dtype, p.config.output_layout);
}

// The most at a time is while the halo gathers or while the convolution runs.
void take_program_sizes(Conv2dTrial& trial, const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  trial.circular_buffer_bytes = plan.circular_buffer_bytes();
  std::int64_t indices = 0;
  if (!p.config.config_tensors_in_dram)
    indices = round_up(
        reader_indices_bytes(halo_problem_of(p), plan.output_shard.height, plan.act_block_h * kTile, plan.split_reader),
        kAlignment);
  trial.kept_bytes += indices;
  const std::int64_t gathered = plan.has_halo ? trial.halo_bytes : trial.input_bytes;
  trial.wanted_bytes =
      std::max(trial.wanted_bytes, gathered + trial.output_bytes + trial.circular_buffer_bytes + indices);
}

Result<MemoryStory> rehearse(const Conv2dProblem& p, const Machine& machine, std::int64_t l1_small_bytes,
                             MemoryPeak& reached) {
  const TensixSpec& card = tensix_of(machine);
  const double weight_bytes = 2.0 * static_cast<double>(p.out_channels) *
                              static_cast<double>(p.in_channels / p.groups) *
                              static_cast<double>(p.window.kernel_h * p.window.kernel_w);
  const double dram_bytes = static_cast<double>(card.dram_bank_bytes) * card.dram_banks;
  if (weight_bytes > dram_bytes)
    return Refusal{
        .message = fmt::format("the weights alone are {:.0f} bytes of bfloat16, more than the {:.0f} of all DRAM banks",
                               weight_bytes, dram_bytes),
        .code = Code::out_of_memory,
        .shortage = Shortage::dram,
        .requested_bytes = static_cast<std::int64_t>(std::min(weight_bytes / card.dram_banks, 9e18)),
        .free_bytes = card.dram_bank_bytes,
        .largest_free_bytes = card.dram_bank_bytes};
  const auto device = Device::open(machine, {.l1_small_bytes = l1_small_bytes, .values = false});
  const TensorSpec spec({1, 1, p.batch * p.height * p.width, p.in_channels}, p.input_dtype, p.input_layout,
                        p.input_memory);
  const Result<DeviceTensor> input = attempt([&] { return DeviceTensor::allocate(device, spec); });
  if (!input) return input.refusal();
  const DType host = p.weights_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  const Conv2dOperand weights =
      Tensor({p.out_channels, p.in_channels / p.groups, p.window.kernel_h, p.window.kernel_w}, host, Layout::row_major);
  std::optional<Conv2dOperand> bias;
  if (p.has_bias) bias = Tensor({1, 1, 1, p.out_channels}, host, Layout::row_major);
  Conv2dProblem problem = p;
  problem.config.weights_dtype = p.weights_dtype;
  return rehearse_conv2d(*input, weights, bias, problem, {}, &reached);
}

// A program is refused when it is built, after its shards have been allocated: memory that runs out comes first. What
// was reached is the trial's peak.
void allocate_shards(Conv2dTrial& trial, const Conv2dPlan& plan, const Machine& machine, std::int64_t l1_small_bytes) {
  const auto device = Device::open(machine, {.l1_small_bytes = l1_small_bytes, .values = false});
  const auto shards = [&](std::int64_t bytes, const Parallel& parallel) {
    const std::int64_t cores = parallel.cores.num_cores();
    return device->allocate(BufferType::l1, {bytes, bytes * cores, static_cast<int>(cores)});
  };
  auto input = shards(trial.input_bytes, plan.input);
  trial.peak.l1_bytes = trial.peak.total_bytes = trial.input_bytes;
  if (plan.has_halo) {
    input = shards(trial.halo_bytes, plan.input);  // gathered, then the input goes
    trial.peak.total_bytes = trial.wanted_bytes;
    trial.peak.l1_bytes = trial.input_bytes + trial.halo_bytes + trial.kept_bytes;
    trial.peak.circular_buffer_bytes = trial.peak.total_bytes - trial.peak.l1_bytes;
  }
  if (trial.output_bytes > 0) shards(trial.output_bytes, plan.output);
}

// Rows of blocks worth trying on a core that has `rows`.
std::vector<int> usual_heights(std::int64_t rows) {
  std::vector<int> heights{0};
  for (std::int64_t height = kTile; height < rows; height *= 2) heights.push_back(static_cast<int>(height));
  return heights;
}

struct Combination {
  TensorMemoryLayout layout = TensorMemoryLayout::height_sharded;
  int block_height = 0;
  DoubleBuffers double_buffers;
};

Conv2dProblem with(const Conv2dProblem& problem, const Combination& choice) {
  Conv2dProblem out = problem;
  out.config.shard_layout = choice.layout;
  out.config.act_block_h_override = choice.block_height;
  out.config.enable_act_double_buffer = choice.double_buffers.act;
  out.config.enable_weights_double_buffer = choice.double_buffers.weights;
  return out;
}

std::vector<Combination> combinations(const Conv2dProblem& problem, const TensixSpec& card, const Conv2dSweep& sweep) {
  std::vector<Combination> out;
  for (const TensorMemoryLayout layout : sweep.layouts) {
    const Result<Conv2dPlan> plan = try_plan_conv2d(with(problem, {layout, 0, {}}), card);
    if (plan && plan->as_matmul) {
      out.push_back({layout, 0, {}});
      continue;
    }
    std::vector<int> heights = sweep.block_heights;
    if (heights.empty()) heights = usual_heights(plan ? plan->output_shard.height : 0);
    for (const int height : heights)
      for (const DoubleBuffers& buffers : sweep.double_buffers)
        out.push_back({.layout = layout, .block_height = height, .double_buffers = buffers});
  }
  return out;
}

// Fills the trial as far as it comes. Returns why it comes no further; `outline` is set if its shards are known.
std::optional<Refusal> take_sizes(Conv2dTrial& trial, std::optional<Conv2dPlan>& outline, const Machine& machine,
                                  std::int64_t l1_small_bytes) {
  const TensixSpec& card = tensix_of(machine);
  Result<Conv2dPlan> outlined = try_outline_conv2d(trial.problem, card);
  if (!outlined) return outlined.refusal();
  outline = std::move(*outlined);
  const auto shards = attempt(
      [&] { outline->as_matmul ? take_product_sizes(trial, *outline, card) : take_shard_sizes(trial, *outline); });
  if (!shards) return shards.refusal();
  Result<Conv2dPlan> planned = try_plan_conv2d(trial.problem, card);
  if (!planned) return planned.refusal();
  trial.plan = std::move(*planned);
  const auto program = attempt([&] {
    if (!outline->as_matmul) take_program_sizes(trial, *trial.plan);
  });
  if (!program) return program.refusal();
  const Result<MemoryStory> story = rehearse(trial.problem, machine, l1_small_bytes, trial.peak);
  if (!story) return story.refusal();
  trial.peak = story->peak;
  for (const ProgramMemory& each : story->programs)
    if (each.work) trial.programs.push_back(each.work);
  return std::nullopt;
}

}  // namespace

Conv2dTrial try_conv2d(const Conv2dProblem& problem, const Machine& machine, std::int64_t l1_small_bytes) {
  Conv2dTrial trial;
  trial.problem = problem;
  std::optional<Conv2dPlan> outline;
  trial.refusal = take_sizes(trial, outline, machine, l1_small_bytes);
  if (trial.plan || !outline || outline->as_matmul) return trial;
  const auto shards = attempt([&] { allocate_shards(trial, *outline, machine, l1_small_bytes); });
  if (!shards) trial.refusal = shards.refusal();
  return trial;
}

std::vector<Conv2dTrial> sweep_conv2d(const Conv2dProblem& problem, const Machine& machine, std::int64_t l1_small_bytes,
                                      const Conv2dSweep& sweep, FunctionRef<void(std::size_t, std::size_t)> progress) {
  const std::vector<Combination> choices = combinations(problem, tensix_of(machine), sweep);
  std::vector<Conv2dTrial> trials;
  for (const Combination& choice : choices) {
    progress(trials.size(), choices.size());
    trials.push_back(try_conv2d(with(problem, choice), machine, l1_small_bytes));
  }
  return trials;
}

std::optional<std::size_t> best_trial(std::span<const Conv2dTrial> trials) {
  const auto rank = [](const Conv2dTrial& trial) {
    const Conv2dPlan& plan = *trial.plan;
    const Conv2dConfig& config = plan.problem.config;
    const int buffers = int{config.enable_act_double_buffer} + int{config.enable_weights_double_buffer};
    return std::tuple(-plan.output.cores.num_cores(), plan.act_height_blocks * plan.inner_blocks, -buffers,
                      trial.peak.total_bytes);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (trials[i].fits() && (!best || rank(trials[i]) < rank(trials[*best]))) best = i;
  return best;
}

}  // namespace tessera::tensix
