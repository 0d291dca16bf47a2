#include "tessera/targets/tensix/plan/conv_candidates.h"
#include "tessera/core/tile.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/conv_transpose2d/conv_transpose2d.h"
#include "tessera/targets/tensix/ops/halo/halo.h"
#include "tessera/targets/tensix/plan/pins.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace tessera::tensix {
namespace {

using tensix::kTile;

constexpr std::size_t kKeptRefusals = 6;
constexpr double kRoomy = 0.5;      // of L1: what takes less needs no thriftier twin
constexpr double kThriftier = 0.8;  // of the L1 of the one before it: worth keeping besides it

std::int64_t shard_bytes(Extent2d shard, DType dtype, Layout layout) {
  if (layout == Layout::tile)
    return ceil_div(shard.height, kTile) * ceil_div(shard.width, kTile) * tile_bytes(Tile{}, dtype);
  return shard.height * round_up(shard.width * element_bytes(dtype), 16);
}

// Parts of `units` in equal shares: the fewest parts for each size of a share, most parts first.
std::vector<std::int64_t> part_counts(std::int64_t units, std::int64_t most) {
  std::set<std::int64_t, std::greater<>> counts;
  for (std::int64_t parts = std::min(units, most); parts >= 1; --parts)
    counts.insert(ceil_div(units, ceil_div(units, parts)));
  return {counts.begin(), counts.end()};
}

std::vector<std::int64_t> divisors_down(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = n; d >= 1; --d)
    if (n % d == 0) out.push_back(d);
  return out;
}

// One grid of one layer.
class GridSweep {
 public:
  GridSweep(const TensixSpec& card, const TensixCosts& costs, std::int64_t limit_bytes, const tensix::ConvLayer& layer,
            DType input_dtype, Layout input_layout, const StepPrecision& precision, const tensix::LayerConfig& pins,
            std::vector<ConvRefusal>* refusals)
      : card_(card),
        costs_(costs),
        limit_bytes_(limit_bytes),
        layer_(layer),
        pins_(pins),
        refusals_(refusals),
        base_(complete_config(layer, precision)) {
    problem_ = layer.problem;
    problem_.input_dtype = input_dtype;
    problem_.input_layout = input_layout;
    problem_.input_memory = kDramMemoryConfig;
    problem_.has_bias = layer.bias != nullptr;
    if (layer.transposed)
      problem_ = tensix::ConvTranspose2dProblem{problem_, layer.output_pad_h, layer.output_pad_w}.as_convolution();
  }

  std::vector<ConvCandidate> run(TensorMemoryLayout layout, const CoreRangeSet& cores) {
    base_.conv.shard_layout = layout;
    base_.conv.core_grid = cores;
    apply_pins(pins_, base_);
    const Result<tensix::Conv2dPlan> outlined = tensix::try_outline_conv2d(problem_of(base_), card_);
    if (!outlined) {
      refuse(base_, outlined.refusal().message);
      return {};
    }
    const tensix::Conv2dPlan& outline = *outlined;
    if (outline.as_matmul) {
      weigh(base_);
      return std::move(found_);
    }
    take_halo(outline);
    for (const std::int64_t block : divisors_down(outline.output_shard.height / kTile)) {
      tensix::LayerConfig c = base_;
      c.conv.act_block_h_override = block == outline.output_shard.height / kTile ? 0 : static_cast<int>(block * kTile);
      with_flags(c, layout);
    }
    return std::move(found_);
  }

 private:
  tensix::Conv2dProblem problem_of(const tensix::LayerConfig& c) const {
    tensix::Conv2dProblem p = problem_;
    p.config = c.conv;
    p.config.weights_dtype = c.weights_dtype;
    p.weights_dtype = *c.weights_dtype;
    p.output_dtype = *c.dtype;
    c.apply_to(p.compute);
    return p;
  }

  void refuse(const tensix::LayerConfig& c, const std::string& reason, std::int64_t bytes = 0) {
    if (refusals_ == nullptr || refusals_->size() >= kKeptRefusals || !c.conv.shard_layout || !c.conv.core_grid) return;
    // By their first words: people need not read the same sentence twice. Nothing else depends on it.
    for (const ConvRefusal& each : *refusals_)
      if (each.reason.substr(0, 24) == reason.substr(0, 24)) return;  // of a kind that is there already
    refusals_->push_back({config_words(c), reason.substr(0, reason.find('\n')), bytes});
  }

  void take_halo(const tensix::Conv2dPlan& plan) {
    halo_bytes_ = halo_buffer_bytes_ = 0;
    halo_ns_ = 0;
    const tensix::Conv2dProblem& p = plan.problem;
    if (!plan.has_halo || layer_.transposed) return;
    const Result<tensix::HaloPlan> halo = attempt([&] {
      return tensix::plan_halo({p.batch, p.height, p.width, p.window}, plan.input, plan.input_shard,
                               plan.output_shard.height, p.input_dtype, p.input_layout);
    });
    if (!halo) return;  // the trial will say it
    halo_bytes_ = halo->out_bytes_per_core();
    for (const tensix::PlannedBuffer& buffer : halo->circular_buffers) halo_buffer_bytes_ += buffer.bytes;
    tensix::HaloShard shard{plan.input.cores.num_cores(), plan.input.row_parts, 0, 0, false};
    if (p.input_layout == Layout::tile) {
      shard.tile_rows = ceil_div(plan.input_shard.height, kTile);
      shard.tiles = shard.tile_rows * ceil_div(plan.input_shard.width, kTile);
    }
    halo_ns_ = tensix::time_of(tensix::halo_work(*halo, shard), card_, costs_).ns + card_.op_gap_ns;
  }

  void with_flags(const tensix::LayerConfig& c, TensorMemoryLayout layout) {
    const tensix::SlidingWindow& w = problem_.window;
    const bool block = layout == TensorMemoryLayout::block_sharded && w.kernel_h > 1;
    for (const bool full : {true, false}) {
      if (full && !block) continue;
      tensix::LayerConfig own = c;
      own.conv.full_inner_dim = full;
      with_double_buffers(own);
    }
    const bool reuse = layout == TensorMemoryLayout::height_sharded && w.stride_h == 1 && w.stride_w == 1 &&
                       w.dilation_h == 1 && w.dilation_w == 1 && w.kernel_h * w.kernel_w > 1 && !layer_.transposed;
    if (!reuse || least_bytes_ < kRoomy * static_cast<double>(limit_bytes_)) return;
    tensix::LayerConfig own = c;
    own.conv.enable_activation_reuse = true;
    own.conv.enable_act_double_buffer = own.conv.enable_weights_double_buffer = false;
    weigh(own);
  }

  void with_double_buffers(tensix::LayerConfig c) {
    for (const auto& [act, weights] : {std::pair{true, true}, {false, true}, {true, false}, {false, false}}) {
      c.conv.enable_act_double_buffer = act;
      c.conv.enable_weights_double_buffer = weights;
      const std::optional<std::int64_t> bytes = weigh(c);
      if (!bytes || *bytes < kRoomy * static_cast<double>(limit_bytes_)) return;
    }
  }

  // Bytes that it takes, if there is such a configuration at all.
  std::optional<std::int64_t> weigh(tensix::LayerConfig c) {
    apply_pins(pins_, c);
    const Result<tensix::Conv2dPlan> planned = tensix::try_plan_conv2d(problem_of(c), card_);
    if (!planned) {
      refuse(c, planned.refusal().message);
      return std::nullopt;
    }
    const tensix::Conv2dPlan& plan = *planned;
    const tensix::Conv2dProblem& p = plan.problem;
    const std::int64_t input =
        shard_bytes(plan.input_shard, p.input_dtype, plan.as_matmul ? Layout::tile : p.input_layout);
    const std::int64_t output = shard_bytes(plan.output_shard, p.output_dtype, Layout::tile);
    const std::int64_t gathered = plan.has_halo ? halo_bytes_ : input;
    std::int64_t bytes = gathered + output + plan.circular_buffer_bytes();
    if (plan.has_halo) bytes = std::max(bytes, input + halo_bytes_ + halo_buffer_bytes_);
    least_bytes_ = std::min(least_bytes_, bytes);
    if (bytes > limit_bytes_) {
      refuse(c, fmt::format("takes {} B of a core's L1, {} B more than there are", bytes, bytes - limit_bytes_), bytes);
      return bytes;
    }
    const double ns = tensix::time_of(tensix::conv2d_work(plan), card_, costs_).ns + halo_ns_;
    keep({std::move(c), ns, bytes});
    return bytes;
  }

  void keep(ConvCandidate one) {
    for (const ConvCandidate& each : found_)
      if (each.ns <= one.ns && each.l1_bytes <= one.l1_bytes) return;
    std::erase_if(found_,
                  [&](const ConvCandidate& each) { return one.ns <= each.ns && one.l1_bytes <= each.l1_bytes; });
    found_.push_back(std::move(one));
  }

  const TensixSpec& card_;
  const TensixCosts& costs_;
  std::int64_t limit_bytes_;
  const tensix::ConvLayer& layer_;
  const tensix::LayerConfig& pins_;
  std::vector<ConvRefusal>* refusals_;
  tensix::LayerConfig base_;
  tensix::Conv2dProblem problem_;
  std::int64_t halo_bytes_ = 0, halo_buffer_bytes_ = 0, least_bytes_ = std::numeric_limits<std::int64_t>::max();
  double halo_ns_ = 0;
  std::vector<ConvCandidate> found_;
};

}  // namespace

std::string config_words(const tensix::LayerConfig& config) {
  const Conv2dConfig& c = config.conv;
  std::string text = c.shard_layout ? std::string(name(*c.shard_layout)) : "INTERLEAVED";
  if (c.core_grid) text += fmt::format(" on {} cores", c.core_grid->num_cores());
  text += fmt::format(", act_block_h {}", c.act_block_h_override);
  if (c.enable_act_double_buffer) text += ", act x2";
  if (c.enable_weights_double_buffer) text += ", weights x2";
  if (c.full_inner_dim) text += ", full inner dim";
  if (c.enable_activation_reuse) text += ", activation reuse";
  if (config.height_slices)
    text += fmt::format(", {} slices of {}", config.slices, *config.height_slices ? "rows" : "columns");
  return text;
}

tensix::LayerConfig complete_config(const tensix::ConvLayer& layer, const StepPrecision& precision) {
  tensix::LayerConfig c;
  precision.apply_to(c);
  c.conv.activation = layer.activation;
  c.conv.override_sharding_config = true;
  c.conv_fields = {"activation",
                   "deallocate_activation",
                   "reallocate_halo_output",
                   "config_tensors_in_dram",
                   "act_block_h_override",
                   "act_block_w_div",
                   "reshard_if_not_optimal",
                   "override_sharding_config",
                   "shard_layout",
                   "core_grid",
                   "transpose_shards",
                   "output_layout",
                   "enable_act_double_buffer",
                   "enable_weights_double_buffer",
                   "full_inner_dim",
                   "enable_kernel_stride_folding",
                   "enable_activation_reuse",
                   "force_split_reader",
                   "override_output_sharding_config"};
  return c;
}

ConvGrid ConvCandidates::on_grid(const tensix::ConvLayer& layer, DType input_dtype, Layout input_layout,
                                 const StepPrecision& precision, const tensix::LayerConfig& pins,
                                 TensorMemoryLayout layout, const CoreRangeSet& cores,
                                 std::vector<ConvRefusal>* refusals) const {
  GridSweep sweep(card_, costs_, limit_bytes_, layer, input_dtype, input_layout, precision, pins, refusals);
  ConvGrid grid{layout, cores, sweep.run(layout, cores)};
  std::vector<ConvCandidate>& found = grid.candidates;
  std::stable_sort(found.begin(), found.end(),
                   [](const ConvCandidate& a, const ConvCandidate& b) { return a.ns < b.ns; });
  if (found.size() <= limits_.per_grid) return grid;
  std::vector<ConvCandidate> kept;
  for (ConvCandidate& each : found) {
    const bool last = &each == &found.back();  // none takes less memory
    const bool thriftier =
        kept.empty() || static_cast<double>(each.l1_bytes) < kThriftier * static_cast<double>(kept.back().l1_bytes);
    if (last || (thriftier && kept.size() + 1 < limits_.per_grid)) kept.push_back(std::move(each));
  }
  found = std::move(kept);
  return grid;
}

ConvChoices ConvCandidates::choices(const tensix::ConvLayer& layer, DType input_dtype, Layout input_layout,
                                    const StepPrecision& precision, const tensix::LayerConfig& pins) const {
  const CoreGrid all{card_.grid_y, card_.grid_x};
  const tensix::Conv2dProblem& p = layer.problem;
  const std::int64_t row_tiles = ceil_div(p.batch * layer.out_h() * layer.out_w(), kTile);
  const std::int64_t channel_tiles = ceil_div(p.in_channels, kTile);
  ConvChoices out;
  std::vector<ConvGrid> height, block, width;
  const auto wanted = [&](TensorMemoryLayout layout) {
    return !pins.gives("shard_layout") || pins.conv.shard_layout == layout;
  };
  const auto weigh = [&](std::vector<ConvGrid>& to, TensorMemoryLayout layout, const CoreRangeSet& cores) {
    ConvGrid grid = on_grid(layer, input_dtype, input_layout, precision, pins, layout, cores, &out.refusals);
    if (!grid.candidates.empty()) to.push_back(std::move(grid));
  };
  if (pins.gives("core_grid")) {
    for (auto& [layout, to] :
         {std::pair{TensorMemoryLayout::height_sharded, &height}, std::pair{TensorMemoryLayout::block_sharded, &block},
          std::pair{TensorMemoryLayout::width_sharded, &width}})
      if (wanted(layout)) weigh(*to, layout, *pins.conv.core_grid);
  } else {
    const auto enough = [&](std::int64_t cores, std::int64_t most) {
      return static_cast<double>(cores) >= limits_.fewest * static_cast<double>(most);
    };
    const auto row_of = [&](std::int64_t cores) { return num_cores_to_corerangeset({0, 0}, cores, all, true); };
    if (wanted(TensorMemoryLayout::height_sharded))
      for (const std::int64_t cores : part_counts(row_tiles, all.num_cores()))
        if (enough(cores, std::min(row_tiles, all.num_cores())))
          weigh(height, TensorMemoryLayout::height_sharded, row_of(cores));
    if (wanted(TensorMemoryLayout::block_sharded))
      for (const std::int64_t down : part_counts(row_tiles, all.y))
        for (const std::int64_t across : part_counts(channel_tiles, all.x))
          if (enough(down, std::min<std::int64_t>(row_tiles, all.y)))
            weigh(block, TensorMemoryLayout::block_sharded,
                  CoreRange({0, 0}, {static_cast<int>(across) - 1, static_cast<int>(down) - 1}));
    if (wanted(TensorMemoryLayout::width_sharded))
      for (const std::int64_t cores : part_counts(channel_tiles, all.num_cores()))
        if (enough(cores, std::min(channel_tiles, all.num_cores())))
          weigh(width, TensorMemoryLayout::width_sharded, row_of(cores));
  }
  double fastest = std::numeric_limits<double>::max();
  for (const std::vector<ConvGrid>* each : {&height, &block, &width})
    for (const ConvGrid& grid : *each) fastest = std::min(fastest, grid.candidates.front().ns);
  for (const auto& [each, most] : {std::pair{&height, limits_.height_grids}, std::pair{&block, limits_.block_grids},
                                   std::pair{&width, limits_.width_grids}}) {
    std::stable_sort(each->begin(), each->end());
    // The one that takes least memory stays, however slow.
    for (std::size_t i = 0; i < each->size() && i < most; ++i)
      if (i == 0 || (*each)[i].candidates.front().ns <= limits_.slowest * fastest)
        out.grids.push_back(std::move((*each)[i]));
  }
  std::stable_sort(out.grids.begin(), out.grids.end());
  return out;
}

}  // namespace tessera::tensix
