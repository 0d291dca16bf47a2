#include "tessera/targets/tensix/plan/search.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/ops/lowering.h"
#include "tessera/targets/tensix/plan/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tessera::tensix {
namespace {

constexpr std::size_t kShownAlternatives = 16;

}  // namespace

Search::Search(const tensix::LoweredGraph& network, const Machine& machine, std::int64_t l1_small_bytes,
               std::vector<tensix::LayerConfig> pins, const SearchSettings& settings)
    : network_(network),
      costs_(tensix_costs(machine)),
      trials_(network, machine, l1_small_bytes),
      pins_(std::move(pins)),
      settings_(settings),
      candidates_(trials_.card(), costs_, trials_.limit_bytes(), settings.candidates),
      last_(last_uses(network)),
      uses_(network.graph.values.size()) {
  for (std::size_t i = 0; i < network.nodes.size(); ++i)
    for (const ValueId id : network.nodes[i].inputs)
      uses_[static_cast<std::size_t>(id)].push_back(static_cast<std::int64_t>(i));
}

SpecId Search::at(const Live& live, ValueId id) {
  for (const auto& [value, spec] : live)
    if (value == id) return spec;
  return kNoSpec;
}

SpecId Search::dram_of(SpecId id) { return trials_.id_of(trials_.spec(id).with_memory_config(kDramMemoryConfig)); }

// Convolutions pad the channels of row-major shards so far, since rows begin at multiples of 32 B.
constexpr std::int64_t kChannelsOfShards = 16;

bool Search::in_dram_shards(SpecId id) const {
  const MemoryConfig& memory = trials_.spec(id).memory_config();
  return memory.is_dram() && memory.is_sharded();
}

std::optional<MemoryConfig> Search::input_memory(ValueId id) {
  const SpecId spec = at(start().live, id);
  return spec == kNoSpec ? std::nullopt : std::optional(trials_.spec(spec).memory_config());
}

// Inputs come through DRAM: row by row over its banks, or as many rows in one piece as a bank gets. A convolution's
// cores read the latter in long pieces.
Search::State Search::start() {
  State state;
  for (const ValueId id : network_.graph.inputs) {
    const TensorType& type = network_.graph.value(id).type;
    SpecId spec = kNoSpec;
    const auto fold = network_.folds.find(id);
    if (tensix::fits_card(type.type, type.shape())) {
      const Extent2d matrix = network_.matrix(id);
      const Shape rows = fold != network_.folds.end() ? fold->second.rows() : Shape{1, 1, matrix.height, matrix.width};
      const auto& uses = uses_[static_cast<std::size_t>(id)];
      const bool for_convolutions = std::ranges::all_of(uses, [&](std::int64_t node) {
        return network_.nodes[static_cast<std::size_t>(node)].layer.is<tensix::ConvLayer>();
      });
      MemoryConfig memory = kDramMemoryConfig;
      if (settings_.sharded_inputs && for_convolutions) {
        const int banks = trials_.card().dram_banks;
        // As wide as the shards that convolutions read, so that rows go in long pieces from one to the other.
        memory = MemoryConfig(TensorMemoryLayout::height_sharded, BufferType::dram,
                              ShardSpec{CoreRange({0, 0}, {banks - 1, 0}),
                                        {ceil_div(rows[2], banks), round_up(rows[3], kChannelsOfShards)}});
      }
      spec = trials_.id_of(TensorSpec(rows, DType::bfloat16, Layout::row_major, memory));
    }
    state.live.emplace_back(id, spec);
  }
  std::sort(state.live.begin(), state.live.end());
  return state;
}

Result<double> Search::fastest_start(const std::vector<StepPrecision>& precisions, const std::vector<NodeLimit>& limits,
                                     std::size_t nodes, FunctionRef<void(std::size_t)> progress) {
  const auto layers = beams(precisions, limits, std::min(nodes, network_.nodes.size()), progress);
  if (!layers) return layers.refusal();
  return layers->back().front().ns;
}

Result<std::vector<std::vector<Search::State>>> Search::beams(const std::vector<StepPrecision>& precisions,
                                                              const std::vector<NodeLimit>& limits, std::size_t nodes,
                                                              FunctionRef<void(std::size_t)> progress) {
  precisions_ = &precisions;
  limits_ = &limits;
  std::vector<std::vector<State>> layers{{start()}};
  for (std::size_t i = 0; i < nodes; ++i) {
    if (settings_.score) score_ahead(i, layers.back());
    std::vector<State> next;
    NodeOutcome outcome;
    outcome.states = &next;
    for (std::size_t s = 0; s < layers.back().size(); ++s) {
      const std::size_t before = next.size();
      expand(i, layers.back()[s], outcome);
      for (std::size_t k = before; k < next.size(); ++k) next[k].parent = s;
    }
    if (next.empty()) return no_way(i, outcome);
    keep_best(next);
    layers.push_back(std::move(next));
    progress(i + 1);
  }
  return layers;
}

// What the next node will ask is known before it is: in rounds, since what can be asked depends on earlier answers.
void Search::score_ahead(std::size_t node, const std::vector<State>& states) {
  do {
    trials_.collect();
    for (const State& state : states) {
      std::vector<State> ignored;
      NodeOutcome outcome;
      outcome.states = &ignored;
      expand(node, state, outcome);
    }
  } while (trials_.score(settings_.score));
}

Result<std::vector<SearchStep>> Search::run(const std::vector<StepPrecision>& precisions,
                                            const std::vector<NodeLimit>& limits,
                                            FunctionRef<void(std::size_t)> progress) {
  const auto found = beams(precisions, limits, network_.nodes.size(), progress);
  if (!found) return found.refusal();
  const std::vector<std::vector<State>>& layers = *found;
  std::vector<SearchStep> path(network_.nodes.size());
  std::size_t at = 0;  // the fastest comes first
  for (std::size_t i = network_.nodes.size(); i > 0; --i) {
    path[i - 1] = layers[i][at].step;
    at = layers[i][at].parent;
  }
  return path;
}

void Search::keep_best(std::vector<State>& states) const {
  std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) { return a.ns < b.ns; });
  std::map<Live, bool> seen;
  std::unordered_map<SpecId, std::size_t> same;
  std::vector<State> kept;
  for (State& state : states) {
    if (kept.size() >= settings_.beam) break;
    if (!seen.emplace(state.live, true).second) continue;
    if (same[state.result]++ >= settings_.same_result) continue;
    kept.push_back(std::move(state));
  }
  states = std::move(kept);
}

void Search::expand(std::size_t node, const State& state, NodeOutcome& outcome) {
  if (network_.nodes[node].layer.is<tensix::HostLayer>()) return expand_host(node, state, outcome);
  const std::size_t before = outcome.states->size();
  for (const Inputs& inputs : input_choices(node, state))
    for (const ConfigId config : configs(node, inputs.specs)) consider(node, state, inputs, config, outcome);
  if (outcome.states->size() > before || trials_.unknown() > 0) return;
  // Nothing fits beside its operands: they go first.
  std::vector<std::pair<std::size_t, MemoryConfig>> all;
  for (std::size_t i = 0; i < network_.nodes[node].inputs.size(); ++i) all.emplace_back(i, kDramMemoryConfig);
  if (const auto inputs = moved(state, node, all, "operands leave room for what reads them"))
    for (const ConfigId config : configs(node, inputs->specs)) consider(node, state, *inputs, config, outcome);
}

void Search::expand_host(std::size_t node, const State& state, NodeOutcome& outcome) {
  const tensix::LoweredNode& n = network_.nodes[node];
  State next = state;
  next.step = {};
  next.step.config = trials_.id_of(tensix::LayerConfig{});
  std::erase_if(next.live, [&](const auto& each) { return is_last(each.first, node); });
  for (const ValueId id : n.outputs) {
    const TensorType& type = network_.graph.value(id).type;
    SpecId spec = kNoSpec;
    if (tensix::fits_card(type.type, type.shape()))
      spec = trials_.id_of(TensorSpec(Shape{1, 1, network_.matrix(id).height, network_.matrix(id).width},
                                      DType::bfloat16, Layout::row_major));
    if (!is_last(id, node)) next.live.emplace_back(id, spec);
  }
  std::sort(next.live.begin(), next.live.end());
  outcome.states->push_back(std::move(next));
}

void Search::consider(std::size_t node, const State& state, const Inputs& inputs, ConfigId config,
                      NodeOutcome& outcome) {
  const tensix::LoweredNode& n = network_.nodes[node];
  const Trial& trial = trials_.node(node, inputs.specs, config);
  const NodeLimit& known = (*limits_)[node];
  WeighedConfig other;
  if (outcome.others != nullptr) {
    const tensix::LayerConfig& asked = trials_.config(config);
    other.config = trial.config.empty() && asked.conv.shard_layout ? config_words(asked) : trial.config;
    if (asked.conv.enable_kernel_stride_folding.value_or(false)) other.config += ", folded";
    other.l1_bytes = trial.peak_bytes;
  }
  const auto refuse = [&](const Refusal& refusal) {
    if (!outcome.refusal) outcome.refusal = refusal;
    if (outcome.others == nullptr) return;
    other.refusal = refusal.message;
    outcome.others->push_back(other);
  };
  if (!trial.fits()) return refuse(trial.refusal);

  // The moves of operands, then what has to make room.
  Live live = state.live;
  std::vector<SearchMove> moves = inputs.moves;
  double ns = trial.ns;
  std::int64_t all = 0;
  for (const auto& [id, spec] : live)
    if (spec != kNoSpec) all += trials_.bytes(spec);
  std::int64_t most = 0;
  for (const SearchMove& move : moves) {
    for (auto& [id, spec] : live)
      if (id == move.value) {
        most = std::max(most, all + trials_.bytes(move.to));
        all += trials_.bytes(move.to) - trials_.bytes(spec);
        spec = move.to;
      }
    ns += move.ns;
  }
  const auto is_input = [&](ValueId id) { return std::find(n.inputs.begin(), n.inputs.end(), id) != n.inputs.end(); };
  std::int64_t estimate = std::max(most, all - trial.operand_bytes + trial.peak_bytes);
  other.l1_bytes = estimate;
  // What did not find its bytes in one piece may find them when its operands have slid to one end.
  std::vector<SearchMove> slides;
  if (estimate > known.l1_bytes && estimate <= known.l1_bytes_slid) slides = operand_slides(n, live);
  const std::int64_t limit = std::min(trials_.limit_bytes(), slides.empty() ? known.l1_bytes : known.l1_bytes_slid);
  std::vector<SearchMove> spills;
  while (estimate > limit) {
    // What is read last leaves first.
    auto farthest = live.end();
    std::int64_t when = -1;
    for (auto each = live.begin(); each != live.end(); ++each) {
      if (each->second == kNoSpec || trials_.bytes(each->second) == 0 || is_input(each->first)) continue;
      const auto& uses = uses_[static_cast<std::size_t>(each->first)];
      const auto next = std::upper_bound(uses.begin(), uses.end(), static_cast<std::int64_t>(node));
      const std::int64_t use = next == uses.end() ? static_cast<std::int64_t>(network_.nodes.size()) : *next;
      if (use > when) when = use, farthest = each;
    }
    if (farthest == live.end()) {
      const std::int64_t over = estimate - limit;
      std::string reason =
          limit < trials_.limit_bytes()
              ? fmt::format("takes {} B of a core's L1 and did not find them in one piece", estimate)
              : fmt::format("takes {} B of a core's L1, {} B more than the {} B there are", estimate, over, limit);
      if (over < outcome.least_over) {
        outcome.least_over = over;
        outcome.least_over_bytes = estimate;
        outcome.least_over_text = fmt::format("{}: {}", trial.config, reason);
      }
      return refuse({.message = std::move(reason),
                     .code = Code::out_of_memory,
                     .shortage = Shortage::l1,
                     .requested_bytes = estimate,
                     .free_bytes = limit,
                     .largest_free_bytes = limit});
    }
    const SpecId to = dram_of(farthest->second);
    const Trial& spill = trials_.move(farthest->second, to);
    if (!spill.fits()) return refuse(spill.refusal);
    spills.push_back({PlannedMove::Kind::spill, farthest->first, to, spill.ns,
                      fmt::format("{} B of each core make room for '{}'", trials_.bytes(farthest->second), n.name)});
    estimate -= trials_.bytes(farthest->second);
    ns += spill.ns;
    farthest->second = to;
  }
  moves.insert(moves.begin(), spills.begin(), spills.end());
  for (SearchMove& slide : slides) {
    ns += slide.ns;
    moves.push_back(std::move(slide));
  }
  if (outcome.others != nullptr) {
    other.ns = ns;
    for (const SearchMove& move : moves)
      other.config += fmt::format(", {} of '{}' first", name(move.kind), network_.graph.value(move.value).name);
    outcome.others->push_back(std::move(other));
  }
  State next;
  const auto is_reshard = [](const SearchMove& move) { return move.kind == PlannedMove::Kind::reshard; };
  const auto reshards = std::count_if(moves.begin(), moves.end(), is_reshard) + (trial.reshards ? 1 : 0);
  next.ns = state.ns + ns + settings_.reshard_ns * static_cast<double>(reshards);
  next.step = {config, std::move(moves), ns, estimate};
  next.result = trial.result;
  std::erase_if(live, [&](const auto& each) { return is_last(each.first, node); });
  if (!is_last(n.outputs[0], node)) {
    live.emplace_back(n.outputs[0], trial.result);
    std::sort(live.begin(), live.end());
  }
  next.live = std::move(live);
  outcome.states->push_back(std::move(next));
}

std::vector<SearchMove> Search::operand_slides(const tensix::LoweredNode& node, const Live& live) {
  std::vector<SearchMove> slides;
  for (const ValueId id : node.inputs) {
    const SpecId spec = at(live, id);
    if (spec == kNoSpec || trials_.bytes(spec) == 0) continue;
    if (std::ranges::any_of(slides, [&](const SearchMove& each) { return each.value == id; })) continue;
    const Trial& trial = trials_.move(spec, spec);
    if (trial.fits())
      slides.push_back({PlannedMove::Kind::slide, id, spec, trial.ns, "holes between tensors become one"});
  }
  return slides;
}

std::vector<Search::ScoredAlternatives> Search::alternatives(const std::vector<SearchStep>& path,
                                                             const std::vector<StepPrecision>& precisions,
                                                             const std::vector<NodeLimit>& limits) {
  precisions_ = &precisions;
  limits_ = &limits;
  std::vector<ScoredAlternatives> out;
  State state = start();
  for (std::size_t i = 0; i < path.size(); ++i) {
    std::vector<WeighedConfig> others;
    std::vector<State> next;
    NodeOutcome outcome;
    outcome.states = &next;
    outcome.others = &others;
    expand(i, state, outcome);
    // The way that was taken.
    const auto taken = std::find_if(next.begin(), next.end(), [&](const State& each) {
      const SearchStep &a = each.step, &b = path[i];
      return a.config == b.config && a.ns == b.ns && a.moves.size() == b.moves.size() &&
             std::equal(a.moves.begin(), a.moves.end(), b.moves.begin(),
                        [](const SearchMove& x, const SearchMove& y) { return x.value == y.value && x.to == y.to; });
    });
    check(taken != next.end(), Code::internal, "the plan's step for '{}' cannot be found again",
          network_.nodes[i].name);
    // Ways that can run are in the order of the states that they lead to.
    WeighedConfig chosen;
    auto way = taken - next.begin();
    for (WeighedConfig& each : others)
      if (each.refusal.empty() && way-- == 0) {
        each.chosen = true;
        chosen = each;
      }
    std::vector<WeighedConfig> kept = limits[i].refused;
    std::stable_sort(others.begin(), others.end(), [](const WeighedConfig& a, const WeighedConfig& b) {
      return a.refusal.empty() != b.refusal.empty() ? a.refusal.empty() : a.ns < b.ns;
    });
    std::set<std::string> seen{chosen.config};  // those that read the same are shown once
    std::size_t fit = 0, refused = 0;
    for (WeighedConfig& each : others) {
      if (!each.chosen && !seen.insert(each.config + each.refusal).second) continue;
      std::size_t& count = each.refusal.empty() ? fit : refused;
      if (count++ < kShownAlternatives / 2) kept.push_back(std::move(each));
    }
    if (const auto* conv = network_.nodes[i].layer.as<tensix::ConvLayer>(); conv != nullptr)
      for (const auto& [key, choices] : choices_)
        if (asked_.contains(key) && key.starts_with(fmt::format("{} ", trials_.kind(i))))
          for (const ConvRefusal& each : choices.refusals)
            if (refused++ < kShownAlternatives) kept.push_back({each.config, each.reason, 0, each.l1_bytes});
    out.push_back({std::move(chosen), std::move(kept)});
    state = std::move(*taken);
  }
  return out;
}

Refusal Search::no_way(std::size_t node, const NodeOutcome& outcome) const {
  const tensix::LoweredNode& n = network_.nodes[node];
  const std::string pins = pinned_fields(pins_[node]);
  const std::string first = outcome.refusal ? outcome.refusal->message : "";
  if (!pins.empty())
    return {.message = fmt::format("the pins of '{}' ({}) cannot be met: {}", n.name, pins,
                                   !outcome.least_over_text.empty() ? outcome.least_over_text
                                   : first.empty()                  ? "no configuration has these fields"
                                                                    : first),
            .hint = "leave a pin out, or take another value",
            .code = Code::invalid_argument};
  if (!outcome.least_over_text.empty())
    return {.message = fmt::format("there is no way to run '{}' ({}) within L1; the closest misses it by {} B: {}",
                                   n.name, n.op, outcome.least_over, outcome.least_over_text),
            .hint = fmt::format("{} B less of a core would do: a smaller batch, a smaller image, or fewer bits",
                                outcome.least_over),
            .code = Code::out_of_memory,
            .shortage = Shortage::l1,
            .requested_bytes = outcome.least_over_bytes,
            .free_bytes = outcome.least_over_bytes - outcome.least_over,
            .largest_free_bytes = outcome.least_over_bytes - outcome.least_over};
  Refusal out = outcome.refusal.value_or(Refusal{});
  out.message = fmt::format("there is no way to run '{}' ({}): {}", n.name, n.op,
                            first.empty() ? "no configuration of it exists" : first);
  out.hint = out.shortage == Shortage::l1_small ? "give L1_SMALL more: --l1-small 32768" : "a smaller batch or image";
  out.code = Code::out_of_memory;
  return out;
}

}  // namespace tessera::tensix
