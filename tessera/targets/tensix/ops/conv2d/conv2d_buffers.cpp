#include "tessera/targets/tensix/ops/conv2d/conv2d_buffers.h"

#include "tessera/core/error.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_blocks.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_reader.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <utility>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kScratchBytes = 64;
constexpr std::int64_t kIndexBytes = 2;

// What the halo writes: sticks, so no block floats.
DType stick_dtype(const Conv2dProblem& problem) {
  return problem.input_dtype == DType::float32 ? DType::float32 : DType::bfloat16;
}

// Partial sums are kept in L1 only where there is something to add up: several blocks along the reduction, or two when
// a bias follows.
bool accumulates_in_l1(const Conv2dPlan& plan) {
  return plan.problem.compute.packer_l1_acc &&
         (plan.inner_blocks > 2 || (plan.problem.has_bias && plan.inner_blocks > 1));
}

DType wide_dtype(const Conv2dProblem& problem) {
  return problem.compute.fp32_dest_acc_en ? DType::float32 : DType::bfloat16;
}

class Buffers {
 public:
  Buffers(std::vector<PlannedBuffer>& list, bool checked) : list_(list), checked_(checked) {}

  void tiles(std::string name, std::int64_t count, DType dtype) {
    if (count == 0) return;
    check(!checked_ || count <= kMostPages, Code::invalid_argument,
          Hint{"a smaller act_block_h_override makes blocks, and with them buffers, smaller"},
          "number of CB pages {} is greater than {}: the {} buffer's counters would wrap around", count, kMostPages,
          name);
    list_.push_back({std::move(name), count * tile_bytes(Tile{}, dtype), count, dtype});
  }
  void bytes(std::string name, std::int64_t bytes, DType dtype) { list_.push_back({std::move(name), bytes, 1, dtype}); }

 private:
  std::vector<PlannedBuffer>& list_;
  bool checked_;
};

// With activation reuse a reader keeps one image row of windows and what later rows add to it.
std::int64_t reused_tiles(const Conv2dPlan& plan, std::int64_t block_h) {
  const Conv2dProblem& p = plan.problem;
  check(!is_block_float(p.input_dtype), Code::unsupported, Hint{"give it bfloat16 or float32, or switch reuse off"},
        "datum for {} is invalid: activation reuse counts bytes of single elements", name(p.input_dtype));
  const SlidingWindow& w = p.window;
  const std::int64_t channels = plan.weight_matrix.height / (w.kernel_h * w.kernel_w);
  const std::int64_t image_tiles = ceil_div(p.out_w(), kTile);
  const std::int64_t left_over = round_up(p.out_w(), kTile) - p.out_w();
  const std::int64_t added_bytes = ceil_div(block_h, image_tiles) * channels * w.kernel_w *
                                   (1 + left_over * w.kernel_h) * element_bytes(p.input_dtype);
  return image_tiles * plan.act_block_w + ceil_div(added_bytes, tile_bytes(Tile{}, stick_dtype(p)));
}

// Tiles of windows for each reader of a block.
struct ReaderTiles {
  std::int64_t first = 0, second = 0;
};

ReaderTiles reader_tiles(const Conv2dPlan& plan) {
  const std::int64_t times = plan.problem.config.enable_act_double_buffer ? 2 : 1;
  if (!plan.split_reader) return {.first = times * plan.act_block_h * plan.act_block_w};
  const std::int64_t lower = plan.act_block_h / 2;
  const std::int64_t upper = plan.act_block_h - lower;
  if (plan.problem.config.enable_activation_reuse)
    return {.first = times * reused_tiles(plan, upper), .second = times * reused_tiles(plan, lower)};
  return {.first = times * upper * plan.act_block_w, .second = times * lower * plan.act_block_w};
}

std::int64_t weight_tiles(const Conv2dPlan& plan, const TensixSpec& card) {
  const Conv2dConfig& config = plan.problem.config;
  const SlidingWindow& w = plan.problem.window;
  std::int64_t inner = plan.act_block_w;
  if (plan.depthwise_1d) inner = plan.act_block_h * (reads_taps_together(plan, card) ? w.kernel_w : 1);
  const std::int64_t tiles = plan.weight_block_w * inner;
  if (plan.input.layout == TensorMemoryLayout::height_sharded) {
    if (config.enable_activation_reuse) return tiles;           // the whole reduction is in a block
    if (plan.act_height_blocks > 1) return tiles * w.kernel_h;  // all weights stay for the next block of rows
  }
  return tiles * (config.enable_weights_double_buffer ? 2 : 1);
}

// How many steps the reduction takes, as the program counts them.
std::int64_t inner_blocks_of(const Conv2dPlan& plan) {
  const std::int64_t along = plan.weight_matrix.height / kTile / plan.act_block_w;
  if (plan.input.layout != TensorMemoryLayout::block_sharded) return along;
  return along * (plan.weight_matrix.width / kTile / plan.weight_block_w);
}

}  // namespace

HaloProblem halo_problem_of(const Conv2dProblem& problem) {
  HaloProblem halo;
  halo.batch = problem.batch;
  halo.height = problem.height;
  halo.width = problem.width;
  halo.window = problem.window;
  return halo;
}

void choose_buffers(Conv2dPlan& plan, const TensixSpec& card, bool estimate) {
  const Conv2dProblem& p = plan.problem;
  const TensorMemoryLayout layout = plan.input.layout;
  const bool height = layout == TensorMemoryLayout::height_sharded;
  const bool block = layout == TensorMemoryLayout::block_sharded;
  const DType sticks = stick_dtype(p);
  plan.split_reader = splits_reader(plan, card);
  plan.inner_blocks = inner_blocks_of(plan);
  plan.packer_l1_acc = accumulates_in_l1(plan);
  plan.partials_dtype = plan.packer_l1_acc ? wide_dtype(p) : p.output_dtype;

  // Nobody to send activations to: the tilized block is multiplied where it is.
  const bool alone = !height && plan.input.channel_parts == 1 && plan.output.channel_parts == 1 && !estimate;
  // Windows can be gathered in the buffer they are sent from if that has their format.
  const bool gathers_in_place = block && sticks == p.output_dtype && !alone;
  const ReaderTiles readers = reader_tiles(plan);
  const std::int64_t block_tiles = plan.act_block_h * plan.act_block_w;

  plan.circular_buffers.clear();
  Buffers add(plan.circular_buffers, !estimate);
  add.tiles("weights", weight_tiles(plan, card), p.weights_dtype);
  if (!plan.depthwise_1d && (p.config.output_layout == Layout::row_major || plan.partials_dtype != p.output_dtype))
    add.tiles("partials", plan.act_block_h * plan.weight_block_w, plan.partials_dtype);
  if (height)
    add.tiles("act", readers.first, sticks);
  else if (!alone)
    add.tiles("act", readers.first + readers.second, p.output_dtype);
  if (!gathers_in_place) add.tiles("act_second_reader", readers.second, sticks);
  add.tiles("act_tilized", block_tiles, p.output_dtype);
  if (p.has_bias) add.tiles("bias", plan.weight_block_w, p.weights_dtype);
  if (layout == TensorMemoryLayout::width_sharded) add.tiles("act_row_major", 2 * plan.act_block_w, sticks);
  if (block && !gathers_in_place) add.tiles("act_row_major", readers.first, sticks);
  if (p.config.config_tensors_in_dram) {
    std::int64_t bytes = plan.output_shard.height * kIndexBytes;
    if (!estimate)
      bytes = reader_indices_bytes(halo_problem_of(p), plan.output_shard.height, plan.act_block_h * kTile,
                                   plan.split_reader);
    add.bytes("reader_indices", bytes, DType::uint16);
  }
  add.bytes("scratch", kScratchBytes, DType::bfloat16);
}

void choose_product_buffers(Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  const bool height = plan.input.layout == TensorMemoryLayout::height_sharded;
  plan.inner_blocks = plan.input.channel_parts;
  plan.packer_l1_acc = accumulates_in_l1(plan);
  plan.partials_dtype = plan.packer_l1_acc || p.compute.fp32_dest_acc_en ? wide_dtype(p) : p.output_dtype;
  const std::int64_t rows = plan.output_shard.height / kTile;
  const std::int64_t columns = plan.output_shard.width / kTile;
  const std::int64_t times = plan.inner_blocks > 1 ? 2 : 1;

  plan.circular_buffers.clear();
  Buffers add(plan.circular_buffers, true);
  if (!height) add.tiles("in0", times * rows * plan.act_block_w, p.input_dtype);
  add.tiles("in1", times * plan.act_block_w * columns, p.weights_dtype);
  if (p.has_bias) add.tiles("bias", columns, p.weights_dtype);
  if (plan.partials_dtype != p.output_dtype) add.tiles("partials", rows * columns, plan.partials_dtype);
}

}  // namespace tessera::tensix
