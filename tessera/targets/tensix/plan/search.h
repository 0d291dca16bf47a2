#pragma once

// The search itself: operators in their order, a beam of ways to have come so far. What tells two ways apart is where
// the values lie that are still needed; of two that left them in the same places the faster one stays.

#include "tessera/core/function_ref.h"
#include "tessera/core/refusal.h"
#include "tessera/machine/tensix_costs.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_layer.h"
#include "tessera/targets/tensix/plan/card_plan.h"
#include "tessera/targets/tensix/plan/conv_candidates.h"
#include "tessera/targets/tensix/plan/precision.h"
#include "tessera/targets/tensix/plan/trials.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tensix {

struct SearchMove {
  PlannedMove::Kind kind = PlannedMove::Kind::reshard;
  ValueId value = kNoValue;
  SpecId to = kNoSpec;
  double ns = 0;
  std::string why;
};

struct SearchStep {
  ConfigId config = -1;
  std::vector<SearchMove> moves;
  double ns = 0;                    // moves included
  std::int64_t estimate_bytes = 0;  // most of a core's L1 at a time, if nothing is lost between tensors
};

struct SearchSettings {
  CandidateLimits candidates;
  std::size_t beam = 32;
  std::size_t same_result = 8;  // of the beam, with the newest value in the same place
  ScorePieces score = {};       // none: trials are made when they are needed
  bool sharded_inputs = false;  // images for convolutions come in shards over the banks of DRAM, not row by row
  // What a reshard has to win besides its time: ways that are about as fast differ in how much can go wrong.
  double reshard_ns = 2e3;
};

// What earlier attempts have shown of a node.
struct NodeLimit {
  std::int64_t l1_bytes = std::numeric_limits<std::int64_t>::max();
  std::int64_t l1_bytes_slid = std::numeric_limits<std::int64_t>::max();  // where operands slide together first
  bool lists_in_dram = false;
  std::vector<WeighedConfig> refused;  // what was tried and failed
};

struct QuickEstimate {
  double ns = 0;
  std::size_t without_room = 0;
};

class Search {
 public:
  Search(const tensix::LoweredGraph& network, const Machine& machine, std::int64_t l1_small_bytes,
         std::vector<tensix::LayerConfig> pins, const SearchSettings& settings);

  // By the number of the node, if there is a way.
  Result<std::vector<SearchStep>> run(const std::vector<StepPrecision>& precisions,
                                      const std::vector<NodeLimit>& limits, FunctionRef<void(std::size_t)> progress);
  // The time of the first nodes, at best.
  Result<double> fastest_start(const std::vector<StepPrecision>& precisions, const std::vector<NodeLimit>& limits,
                               std::size_t nodes, FunctionRef<void(std::size_t)> progress);
  // Of all convolutions, each in the fastest way there is if L1 had no end: what tells rewritten networks apart at a
  // glance.
  double convolutions_ns(const std::vector<StepPrecision>& precisions);
  // The same with the L1 there is, and how many convolutions find no room in it even by themselves.
  QuickEstimate convolutions(const std::vector<StepPrecision>& precisions);
  // What could have been done at each node, had everything before it been as it is.
  struct ScoredAlternatives {
    WeighedConfig taken;                // as it was weighed; empty for the host's
    std::vector<WeighedConfig> others;  // it may be among them
  };
  std::vector<ScoredAlternatives> alternatives(const std::vector<SearchStep>& path,
                                               const std::vector<StepPrecision>& precisions,
                                               const std::vector<NodeLimit>& limits);

  // How many ways are followed from now on. What was asked about convolutions until now is no longer told as
  // alternatives of theirs.
  void begin(std::size_t beam, std::size_t same_result) {
    settings_.beam = beam, settings_.same_result = same_result;
    asked_.clear();
  }
  void weigh_reshards(double ns) { settings_.reshard_ns = ns; }
  const SearchSettings& settings() const { return settings_; }

  // Where an input of the network is written; none: not on the card.
  std::optional<MemoryConfig> input_memory(ValueId id);

  Trials& trials() { return trials_; }

 private:
  using Live = std::vector<std::pair<ValueId, SpecId>>;  // sorted; no spec: on the host

  struct State {
    double ns = 0;
    Live live;
    std::size_t parent = 0;
    SearchStep step;
    SpecId result = kNoSpec;
  };
  struct Inputs {
    std::vector<SearchMove> moves;
    std::vector<SpecId> specs;
  };
  struct NodeOutcome {
    std::vector<State>* states = nullptr;
    std::vector<WeighedConfig>* others = nullptr;
    std::optional<Refusal> refusal;  // the first of this node
    std::int64_t least_over = std::numeric_limits<std::int64_t>::max();
    std::int64_t least_over_bytes = 0;  // what the closest takes
    std::string least_over_text;
  };

  QuickEstimate glance(const std::vector<StepPrecision>& precisions, std::int64_t limit_bytes, std::size_t per_grid);
  State start();
  bool in_dram_shards(SpecId id) const;
  Result<std::vector<std::vector<State>>> beams(const std::vector<StepPrecision>& precisions,
                                                const std::vector<NodeLimit>& limits, std::size_t nodes,
                                                FunctionRef<void(std::size_t)> progress);
  void score_ahead(std::size_t node, const std::vector<State>& states);
  void expand(std::size_t node, const State& state, NodeOutcome& outcome);
  void expand_host(std::size_t node, const State& state, NodeOutcome& outcome);
  void consider(std::size_t node, const State& state, const Inputs& inputs, ConfigId config, NodeOutcome& outcome);
  std::vector<Inputs> input_choices(std::size_t node, const State& state);
  std::optional<Inputs> moved(const State& state, std::size_t node,
                              const std::vector<std::pair<std::size_t, MemoryConfig>>& wanted, const std::string& why);
  std::string choices_key(std::size_t node, SpecId input) const;
  const std::vector<ConfigId>& configs(std::size_t node, const std::vector<SpecId>& inputs);
  std::vector<ConfigId> conv_configs(std::size_t node, const tensix::ConvLayer& layer, SpecId input);
  std::vector<ConfigId> pool_configs(std::size_t node, SpecId input);
  std::vector<ConfigId> concat_configs(std::size_t node);
  tensix::LayerConfig plain_config(std::size_t node) const;
  bool is_last(ValueId id, std::size_t node) const {
    return last_[static_cast<std::size_t>(id)] <= static_cast<std::int64_t>(node);
  }
  static SpecId at(const Live& live, ValueId id);
  SpecId dram_of(SpecId id);
  std::vector<SearchMove> operand_slides(const tensix::LoweredNode& node, const Live& live);
  void keep_best(std::vector<State>& states) const;
  Refusal no_way(std::size_t node, const NodeOutcome& outcome) const;

  const tensix::LoweredGraph& network_;
  TensixCosts costs_;
  Trials trials_;
  std::vector<tensix::LayerConfig> pins_;
  SearchSettings settings_;
  ConvCandidates candidates_;
  std::vector<std::int64_t> last_;
  std::vector<std::vector<std::int64_t>> uses_;
  const std::vector<StepPrecision>* precisions_ = nullptr;
  const std::vector<NodeLimit>* limits_ = nullptr;
  std::map<std::string, ConvChoices> choices_;
  std::set<std::string> asked_;  // of those
  // While trials are collected: the configurations that do not depend on what is not known yet.
  std::vector<ConfigId> known_configs_;
  bool incomplete_ = false;
  std::map<std::string, std::vector<ConfigId>> configs_;
};

}  // namespace tessera::tensix
