#include "tessera/targets/tensix/ops/conv2d/conv2d_check.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_buffers.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace tessera::tensix {
namespace {

// Far beyond what any card holds; below these no product of sizes overflows.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 31;
constexpr std::int64_t kMostChannels = std::int64_t{1} << 24;

using Named = std::pair<std::string_view, std::int64_t>;

void check_range(std::initializer_list<Named> values, std::int64_t least, std::int64_t most) {
  for (const auto& [what, value] : values)
    check(value >= least && value <= most, Code::invalid_argument, "conv2d: {} is {}, but it must be {} to {}", what,
          value, least, most);
}

void check_dtypes(const Conv2dProblem& p) {
  for (const auto& [what, dtype] :
       {std::pair{"input", p.input_dtype}, {"weights", p.weights_dtype}, {"output", p.output_dtype}})
    check(is_floating(dtype) && dtype != DType::float16, Code::unsupported,
          Hint{"bfloat16, float32 and the block floats are"}, "conv2d: {} of {} cannot be multiplied on this card",
          what, name(dtype));
  check(p.input_layout == Layout::tile || !is_block_float(p.input_dtype), Code::invalid_argument,
        "conv2d: an input of {} exists in tiles only, not row by row", name(p.input_dtype));
  check(p.config.output_layout == Layout::tile || !is_block_float(p.output_dtype), Code::invalid_argument,
        Hint{"ask for a TILE output, or for bfloat16"}, "conv2d: an output of {} exists in tiles only, not row by row",
        name(p.output_dtype));
}

void check_overrides(const Conv2dProblem& p, const TensixSpec& card) {
  const Conv2dConfig& config = p.config;
  if (config.override_sharding_config) {
    check(config.core_grid.has_value(), Code::invalid_argument,
          "If override_sharding_config is set, core_grid must be set as well.");
    check(config.shard_layout.has_value(), Code::invalid_argument,
          "If override_sharding_config is set, shard_layout must be set as well.");
  }
  if (!config.core_grid) return;
  check(!config.core_grid->empty(), Code::invalid_argument, "conv2d: core_grid has no cores");
  const CoreRange box = config.core_grid->bounding_box();
  check(box.end.x < card.grid_x && box.end.y < card.grid_y, Code::invalid_argument,
        "Invalid core grid override: {} reaches core {}, but the device has {}x{} cores", config.core_grid->to_string(),
        box.end.to_string(), card.grid_x, card.grid_y);
  if (config.override_sharding_config && *config.shard_layout == TensorMemoryLayout::block_sharded)
    check(config.core_grid->num_cores() == box.num_cores(), Code::invalid_argument,
          "conv2d: block sharding needs a rectangle of cores, but core_grid is {}", config.core_grid->to_string());
}

void check_input_memory(const Conv2dProblem& p) {
  const MemoryConfig& memory = p.input_memory;
  if (!memory.is_sharded()) return;
  check(memory.layout() != TensorMemoryLayout::nd_sharded && memory.shard_spec().has_value(), Code::unsupported,
        "conv2d: the input is {} without a 2-D shard spec", name(memory.layout()));
  const ShardSpec& shards = *memory.shard_spec();
  check(!shards.grid.empty(), Code::invalid_argument, "conv2d: the input has shards on no core");
  check_range({{"height of the input's shards", shards.shape.height}}, 1, kMostPixels);
  check_range({{"width of the input's shards", shards.shape.width}}, 1, kMostChannels);
  check(memory.layout() != TensorMemoryLayout::block_sharded ||
            shards.grid.num_cores() == shards.grid.bounding_box().num_cores(),
        Code::invalid_argument, "conv2d: the input's block shards are on {}, which is no rectangle",
        shards.grid.to_string());
}

}  // namespace

void check_conv2d_problem(const Conv2dProblem& p, const TensixSpec& card) {
  const SlidingWindow& w = p.window;
  check_range({{"batch size", p.batch}, {"input height", p.height}, {"input width", p.width}}, 1, kMostPixels);
  check_range({{"number of input channels", p.in_channels},
               {"number of output channels", p.out_channels},
               {"number of groups", p.groups},
               {"kernel height", w.kernel_h},
               {"kernel width", w.kernel_w},
               {"vertical stride", w.stride_h},
               {"horizontal stride", w.stride_w},
               {"vertical dilation", w.dilation_h},
               {"horizontal dilation", w.dilation_w}},
              1, kMostChannels);
  check_range(
      {{"padding above", w.top}, {"padding below", w.bottom}, {"padding before", w.left}, {"padding after", w.right}},
      0, kMostChannels);
  check(p.in_channels % p.groups == 0 && p.out_channels % p.groups == 0, Code::invalid_argument,
        "conv2d: {} groups divide neither all of {} input nor of {} output channels", p.groups, p.in_channels,
        p.out_channels);
  const std::int64_t height = p.height + w.top + w.bottom, width = p.width + w.left + w.right;
  const std::int64_t reach_h = w.dilation_h * (w.kernel_h - 1) + 1, reach_w = w.dilation_w * (w.kernel_w - 1) + 1;
  check(reach_h <= height && reach_w <= width, Code::invalid_argument,
        Hint{fmt::format("pad by at least {} rows and {} columns in all", std::max<std::int64_t>(reach_h - p.height, 0),
                         std::max<std::int64_t>(reach_w - p.width, 0))},
        "conv2d: a window of {}x{} does not fit the padded image of {}x{}", reach_h, reach_w, height, width);
  check(height <= kMostPixels / p.batch && width <= kMostPixels / (p.batch * height), Code::invalid_argument,
        "conv2d: {} images of {}x{} with padding are more than {} pixels", p.batch, height, width, kMostPixels);
  check(w.kernel_h <= kMostChannels / p.in_channels && w.kernel_w <= kMostChannels / (p.in_channels * w.kernel_h),
        Code::invalid_argument, "conv2d: {} channels times a {}x{} kernel are a reduction over more than {} values",
        p.in_channels, w.kernel_h, w.kernel_w, kMostChannels);
  check(p.config.act_block_h_override >= 0 && p.config.act_block_h_override % kTile == 0, Code::invalid_argument,
        Hint{fmt::format("{} is; 0 means all rows of a core",
                         std::max<std::int64_t>(round_up(p.config.act_block_h_override, kTile), 0))},
        "Config Error: act_block_h_override ({}) must be a multiple of 32 (tile height).",
        p.config.act_block_h_override);
  check_conv2d_config(p.config);
  check_dtypes(p);
  check_overrides(p, card);
  check_input_memory(p);
}

void check_output_override(const Conv2dProblem& problem, TensorMemoryLayout layout) {
  check(problem.config.core_grid.has_value(), Code::invalid_argument,
        "When override_output_sharding_config is set to true, core_grid must have a value.");
  check(layout == TensorMemoryLayout::block_sharded, Code::unsupported,
        Hint{"set shard_layout to BLOCK_SHARDED, or leave the override off"},
        "Output sharding config override is only supported for BLOCK_SHARDED layout.");
}

void check_pages(const Conv2dPlan& plan) {
  const Conv2dProblem& p = plan.problem;
  const auto check_count = [](int index, std::int64_t pages, std::string_view what) {
    check(pages <= kMostPages, Code::invalid_argument,
          Hint{"deal the rows to more cores (height or block sharding), or run a smaller image at a time"},
          "For buffer index {}, number of CB pages {} is greater than {}: {} on one core are too many for its counters",
          index, pages, kMostPages, what);
  };
  const bool sticks = p.input_layout == Layout::row_major;
  // Without a halo the convolution itself reads the shard, after nine other buffers (eight without a bias).
  check_count(plan.has_halo ? 0 : 8 + int{p.has_bias},
              sticks ? plan.input_shard.height
                     : ceil_div(plan.input_shard.height, kTile) * ceil_div(plan.input_shard.width, kTile),
              sticks ? "sticks of the input" : "tiles of the input");
  const HaloProblem halo = halo_problem_of(p);
  const std::int64_t rows = halo.out_rows();
  const std::int64_t last_stick = p.batch * halo.padded_h() * halo.padded_w() - 1;
  for (std::int64_t first = 0; first < rows; first += plan.output_shard.height) {
    const std::int64_t last = std::min(first + plan.output_shard.height, rows) - 1;
    check_count(1, std::min(halo.start_of(last) + halo.reach(), last_stick) - halo.start_of(first) + 1,
                "sticks that windows reach");
  }
}

void check_reader_indices(const Conv2dPlan& plan) {
  const std::int64_t bytes = reader_indices_bytes(halo_problem_of(plan.problem), plan.output_shard.height,
                                                  plan.act_block_h * kTile, plan.split_reader);
  const std::int64_t space = plan.output_shard.height * 2;
  check(bytes <= space, Code::unsupported,
        Hint{"more rows on a core, or force_split_reader=False, make the list shorter for its rows"},
        "Reader indices buffer page size {} exceeds worst-case CB size {}: output lines of {} pixels break it into too "
        "many runs",
        bytes, space, plan.problem.out_w());
}

}  // namespace tessera::tensix
