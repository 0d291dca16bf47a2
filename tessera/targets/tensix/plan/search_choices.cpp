// What a search may do at a node: where its operands could be moved, and how it could be called.

#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/ops/concat/concat_layer.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_layer.h"
#include "tessera/targets/tensix/ops/pool/pool_layer.h"
#include "tessera/targets/tensix/ops/reshape/reshape_layer.h"
#include "tessera/targets/tensix/plan/pins.h"
#include "tessera/targets/tensix/plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kSliceCounts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr int kSliceBlocks[] = {0, 256, 64, 32};
constexpr int kFreeBlocks[] = {0, 512, 128, 32};
constexpr std::size_t kMostSliced = 3;
constexpr double kLarge = 0.3;  // of L1: an input that may have to be read from DRAM
constexpr double kTight = 0.6;  // of L1: slices are tried where no convolution takes less

constexpr std::size_t kArrivals = 2;  // shards into which an image may come from DRAM, best first

bool same_parts(const TensorSpec& a, const TensorSpec& b) { return a.memory_config() == b.memory_config(); }

}  // namespace

std::optional<Search::Inputs> Search::moved(const State& state, std::size_t node,
                                            const std::vector<std::pair<std::size_t, MemoryConfig>>& wanted,
                                            const std::string& why) {
  const tensix::LoweredNode& n = network_.nodes[node];
  Inputs out;
  for (const ValueId id : n.inputs) out.specs.push_back(at(state.live, id));
  for (const auto& [index, memory] : wanted) {
    const ValueId id = n.inputs[index];
    const SpecId from = out.specs[index];
    if (trials_.spec(from).memory_config() == memory) continue;
    const Result<SpecId> there = attempt([&] { return trials_.id_of(trials_.spec(from).with_memory_config(memory)); });
    if (!there) return std::nullopt;
    const SpecId to = *there;
    const Trial& trial = trials_.move(from, to);
    if (!trial.fits()) return std::nullopt;
    const bool from_l1 = trials_.bytes(from) > 0, to_l1 = trials_.bytes(to) > 0;
    out.moves.push_back({!to_l1    ? PlannedMove::Kind::spill
                         : from_l1 ? PlannedMove::Kind::reshard
                                   : PlannedMove::Kind::restore,
                         id, to, trial.ns, why});
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (n.inputs[k] == id) out.specs[k] = to;
  }
  return out;
}

std::vector<Search::Inputs> Search::input_choices(std::size_t node, const State& state) {
  const tensix::LoweredNode& n = network_.nodes[node];
  std::vector<Inputs> out;
  const auto add = [&](const std::vector<std::pair<std::size_t, MemoryConfig>>& wanted, const std::string& why) {
    if (auto inputs = moved(state, node, wanted, why)) {
      for (const Inputs& each : out)
        if (each.specs == inputs->specs) return;
      out.push_back(std::move(*inputs));
    }
  };
  add({}, "");
  const auto spec = [&](std::size_t i) -> const TensorSpec& { return trials_.spec(at(state.live, n.inputs[i])); };
  if (const auto* reshape = n.layer.as<tensix::ReshapeLayer>(); reshape != nullptr && reshape->is_view()) return out;
  if (n.layer.is<tensix::ConvLayer>()) {
    if (in_dram_shards(at(state.live, n.inputs[0]))) {
      out.clear();  // it reads rows over the banks, or shards in L1
      const std::vector<SpecId> rows{dram_of(at(state.live, n.inputs[0]))};
      std::vector<const Trial*> fits;
      for (const ConfigId config : configs(node, rows))
        if (const Trial& trial = trials_.node(node, rows, config); trial.fits() && trial.input_shards)
          fits.push_back(&trial);
      std::ranges::stable_sort(fits, {}, [](const Trial* trial) { return trial->ns; });
      std::set<std::string> seen;
      for (const Trial* trial : fits) {
        if (seen.size() == kArrivals) break;
        if (seen.insert(trial->input_shards->to_string()).second)
          add({{0, *trial->input_shards}}, "the image comes in long pieces");
      }
      return out;
    }
    // Where others read it too, shards that suit this one may suit them.
    if (!is_last(n.inputs[0], node)) {
      const std::vector<SpecId> as_is{at(state.live, n.inputs[0])};
      std::set<std::string> seen;
      for (const ConfigId config : configs(node, as_is)) {
        const Trial& trial = trials_.node(node, as_is, config);
        if (trial.fits() && trial.input_shards && seen.insert(trial.input_shards->to_string()).second)
          add({{0, *trial.input_shards}}, "shards that its other readers share");
      }
    }
    if (static_cast<double>(trials_.bytes(at(state.live, n.inputs[0]))) >
        kLarge * static_cast<double>(trials_.limit_bytes()))
      add({{0, kDramMemoryConfig}}, "an image that is read from DRAM");
    return out;
  }
  if (n.inputs.size() == 2 && n.layer.is<tensix::BinaryLayer>()) {
    if (!same_parts(spec(0), spec(1)) && spec(0).logical_shape() == spec(1).logical_shape()) {
      const std::string why = "both operands in the same shards";
      if (spec(0).memory_config().is_l1()) add({{1, spec(0).memory_config()}}, why);
      if (spec(1).memory_config().is_l1()) add({{0, spec(1).memory_config()}}, why);
    }
    add({{0, kDramMemoryConfig}, {1, kDramMemoryConfig}}, "operands that do not fit into L1");
    return out;
  }
  if (const auto* join = n.layer.as<tensix::ConcatLayer>(); join != nullptr && join->joins_in_place()) {
    for (std::size_t like = 0; like < n.inputs.size(); ++like) {
      const MemoryConfig& memory = spec(like).memory_config();
      if (memory.layout() != TensorMemoryLayout::height_sharded || !memory.shard_spec()) continue;
      std::vector<std::pair<std::size_t, MemoryConfig>> wanted;
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        ShardSpec shards = *memory.shard_spec();
        shards.shape.width = spec(i).physical().width;
        wanted.emplace_back(i, MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::l1, shards));
      }
      add(wanted, "parts that are joined lie in the same shards");
    }
    return out;
  }
  if (n.layer.is<tensix::PoolLayer>() && spec(0).memory_config().is_sharded()) {
    const TensixSpec& card = trials_.card();
    const std::int64_t tiles = spec(0).physical().width / 32;
    std::int64_t cores = std::min<std::int64_t>(tiles, card.cores());
    while (cores > 1 && tiles % cores != 0) --cores;
    if (tiles >= 8) {
      const Result<MemoryConfig> shards = attempt([&] {
        const CoreRangeSet grid = num_cores_to_corerangeset({0, 0}, cores, {card.grid_y, card.grid_x}, true);
        return spec(0).width_sharded(grid).memory_config();
      });
      if (shards) add({{0, *shards}}, "channels of a window on one core");
    }
  }
  add({{0, kDramMemoryConfig}}, "read from DRAM");
  return out;
}

tensix::LayerConfig Search::plain_config(std::size_t node) const {
  tensix::LayerConfig c;
  (*precisions_)[node].apply_to(c);
  apply_pins(pins_[node], c);
  return c;
}

const std::vector<ConfigId>& Search::configs(std::size_t node, const std::vector<SpecId>& inputs) {
  const tensix::LoweredNode& n = network_.nodes[node];
  const auto* conv = n.layer.as<tensix::ConvLayer>();
  const bool pool = n.layer.is<tensix::PoolLayer>();
  const NodeLimit& limit = (*limits_)[node];
  std::string key =
      fmt::format("{} {} {} {} {}", trials_.kind(node), config_key(plain_config(node)), limit.lists_in_dram,
                  limit.l1_bytes < trials_.limit_bytes(), conv != nullptr || pool ? inputs[0] : 0);
  if (!pins_[node].conv_fields.empty()) key += fmt::format(" node {}", node);
  if (conv != nullptr) asked_.insert(choices_key(node, inputs[0]));
  const auto found = configs_.find(key);
  if (found != configs_.end()) return found->second;
  std::vector<ConfigId> out;
  incomplete_ = false;
  if (conv != nullptr)
    out = conv_configs(node, *conv, inputs[0]);
  else if (pool)
    out = pool_configs(node, inputs[0]);
  else if (const auto* join = n.layer.as<tensix::ConcatLayer>(); join != nullptr && join->joins_in_place())
    out = concat_configs(node);
  else
    out.push_back(trials_.id_of(plain_config(node)));
  if (incomplete_) return known_configs_ = std::move(out);
  return configs_.emplace(std::move(key), std::move(out)).first->second;
}

// Joined as they are, or converted to rows or tiles first.
std::vector<ConfigId> Search::concat_configs(std::size_t node) {
  tensix::LayerConfig c = plain_config(node);
  std::vector<ConfigId> out{trials_.id_of(c)};
  c.conv_fields.emplace_back("output_layout");
  for (const Layout layout : {Layout::row_major, Layout::tile}) {
    c.conv.output_layout = layout;
    out.push_back(trials_.id_of(c));
  }
  return out;
}

std::vector<ConfigId> Search::pool_configs(std::size_t node, SpecId input) {
  std::vector<ConfigId> out;
  const bool sharded = trials_.spec(input).memory_config().is_sharded();
  tensix::LayerConfig c = plain_config(node);
  c.conv_fields = {"reallocate_halo_output", "output_layout"};
  if (!sharded) c.conv_fields.emplace_back("shard_layout");
  for (const Layout layout : {Layout::row_major, Layout::tile})
    for (const bool realloc : {false, true})
      for (const std::optional<TensorMemoryLayout> scheme :
           {std::optional<TensorMemoryLayout>(), std::optional(TensorMemoryLayout::height_sharded),
            std::optional(TensorMemoryLayout::block_sharded), std::optional(TensorMemoryLayout::width_sharded)}) {
        if (sharded && scheme) continue;
        c.conv.reallocate_halo_output = realloc;
        c.conv.shard_layout = scheme;
        c.conv.output_layout = layout;
        out.push_back(trials_.id_of(c));
      }
  return out;
}

// Of a convolution, whose candidates depend on no more than this.
std::string Search::choices_key(std::size_t node, SpecId input) const {
  const TensorSpec& spec = trials_.spec(input);
  return fmt::format("{} {} {} {} {}", trials_.kind(node), name(spec.dtype()), name(spec.layout()),
                     (*precisions_)[node].to_string(), pins_[node].conv_fields.empty() ? -1 : static_cast<int>(node));
}

std::vector<ConfigId> Search::conv_configs(std::size_t node, const tensix::ConvLayer& layer, SpecId input) {
  const TensorSpec spec = trials_.spec(input);
  const StepPrecision& precision = (*precisions_)[node];
  const tensix::LayerConfig& pins = pins_[node];
  const std::string key = choices_key(node, input);
  auto found = choices_.find(key);
  if (found == choices_.end())
    found = choices_.emplace(key, candidates_.choices(layer, spec.dtype(), spec.layout(), precision, pins)).first;
  const ConvChoices& choices = found->second;

  std::vector<ConfigId> out;
  const bool frees = is_last(network_.nodes[node].inputs[0], node) && spec.memory_config().is_l1();
  const auto add = [&](tensix::LayerConfig c) {
    c.conv.config_tensors_in_dram = (*limits_)[node].lists_in_dram;
    c.conv.deallocate_activation = frees;
    for (const bool realloc : {false, true}) {
      c.conv.reallocate_halo_output = realloc;
      tensix::LayerConfig own = c;
      apply_pins(pins, own);
      const ConfigId id = trials_.id_of(own);
      if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
    }
  };
  bool has_own = false;
  const MemoryConfig& memory = spec.memory_config();
  for (const ConvGrid& grid : choices.grids) {
    if (memory.shard_spec() && memory.layout() == grid.layout && memory.shard_spec()->grid == grid.cores)
      has_own = true;
    for (const ConvCandidate& each : grid.candidates) add(each.config);
  }
  // The shards it comes in.
  const bool layout_pinned = pins.gives("shard_layout") && pins.conv.shard_layout != memory.layout();
  if (memory.shard_spec() && memory.is_l1() && !has_own && !layout_pinned && !pins.gives("core_grid")) {
    const ConvGrid own = candidates_.on_grid(layer, spec.dtype(), spec.layout(), precision, pins, memory.layout(),
                                             memory.shard_spec()->grid);
    for (const ConvCandidate& each : own.candidates) add(each.config);
  }
  // Windows that step by more than a pixel, folded into channels.
  const tensix::SlidingWindow& w = layer.problem.window;
  const bool folds = w.stride_h > 1 && w.stride_w > 1 && w.kernel_h >= w.stride_h && w.kernel_w >= w.stride_w &&
                     layer.problem.groups == 1 && spec.layout() == Layout::row_major && !layer.transposed;
  if (folds)
    for (const ConvGrid& grid : choices.grids)
      for (const ConvCandidate& each : grid.candidates) {
        tensix::LayerConfig c = each.config;
        c.conv.enable_kernel_stride_folding = true;
        for (const int block : {0, c.conv.act_block_h_override}) {
          c.conv.act_block_h_override = block;
          add(c);
        }
      }
  // Shards that the card chooses by itself: images with zeros between their pixels do not fit every grid.
  if (layer.transposed && !pins.gives("core_grid"))
    for (const TensorMemoryLayout layout : {TensorMemoryLayout::height_sharded, TensorMemoryLayout::block_sharded})
      for (const int block : kFreeBlocks) {
        tensix::LayerConfig c = complete_config(layer, precision);
        c.conv.override_sharding_config = false;
        c.conv.reshard_if_not_optimal = true;
        c.conv.shard_layout = layout;
        c.conv.act_block_h_override = block;
        c.conv.enable_act_double_buffer = c.conv.enable_weights_double_buffer = true;
        add(c);
      }
  // From DRAM, where L1 is short of room.
  if (!memory.is_dram() || pins.gives("shard_layout") || pins.gives("core_grid")) return out;
  double least = std::numeric_limits<double>::max();
  for (const ConvGrid& grid : choices.grids)
    for (const ConvCandidate& each : grid.candidates) least = std::min(least, static_cast<double>(each.l1_bytes));
  const bool tried = (*limits_)[node].l1_bytes < trials_.limit_bytes();
  const std::size_t unknown = trials_.unknown();
  const bool none_fits = std::none_of(out.begin(), out.end(),
                                      [&](ConfigId id) { return trials_.node(node, std::vector{input}, id).fits(); });
  incomplete_ = trials_.unknown() > unknown;
  if (incomplete_) return out;
  if (!tried && !none_fits && least < kTight * static_cast<double>(trials_.limit_bytes())) return out;
  incomplete_ = trials_.collecting();  // how many slices are tried depends on what each comes to
  if (incomplete_) return out;
  tensix::LayerConfig c = complete_config(layer, precision);
  c.conv.config_tensors_in_dram = (*limits_)[node].lists_in_dram;
  c.conv.override_sharding_config = false;
  c.conv.enable_weights_double_buffer = c.conv.enable_act_double_buffer = true;
  for (const bool height : {true, false})
    for (const int block : kSliceBlocks) {
      std::size_t fit = 0;
      for (const std::int64_t count : kSliceCounts) {
        c.height_slices = height;
        c.slices = count;
        c.conv.act_block_h_override = block;
        tensix::LayerConfig own = c;
        apply_pins(pins, own);
        const ConfigId id = trials_.id_of(own);
        if (!trials_.node(node, std::vector{input}, id).fits()) continue;
        out.push_back(id);
        if (++fit == kMostSliced) break;
      }
    }
  return out;
}

QuickEstimate Search::glance(const std::vector<StepPrecision>& precisions, std::int64_t limit_bytes,
                             std::size_t per_grid) {
  const ConvCandidates candidates(trials_.card(), costs_, limit_bytes,
                                  {.height_grids = 1, .block_grids = 1, .width_grids = 1, .per_grid = per_grid});
  std::map<std::pair<int, bool>, std::optional<double>> known;
  QuickEstimate all;
  for (std::size_t i = 0; i < network_.nodes.size(); ++i) {
    const auto* conv = network_.nodes[i].layer.as<tensix::ConvLayer>();
    if (conv == nullptr) continue;
    const bool first =
        std::ranges::find(network_.graph.inputs, network_.nodes[i].inputs[0]) != network_.graph.inputs.end();
    const auto [found, added] = known.try_emplace({trials_.kind(i), first}, std::nullopt);
    if (added) {
      const ConvChoices choices = candidates.choices(*conv, first ? DType::bfloat16 : precisions[i].dtype,
                                                     first ? Layout::row_major : Layout::tile, precisions[i], pins_[i]);
      if (!choices.grids.empty()) found->second = choices.grids.front().candidates.front().ns;
    }
    all.ns += found->second.value_or(0);
    if (!found->second) ++all.without_room;
  }
  return all;
}

double Search::convolutions_ns(const std::vector<StepPrecision>& precisions) {
  return glance(precisions, std::numeric_limits<std::int64_t>::max(), 1).ns;
}

QuickEstimate Search::convolutions(const std::vector<StepPrecision>& precisions) {
  constexpr std::size_t kFastestAndSmallest = 2;
  return glance(precisions, trials_.limit_bytes(), kFastestAndSmallest);
}

}  // namespace tessera::tensix
