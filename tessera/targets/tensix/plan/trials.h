#pragma once

// What single operators and moves take, each found out once.

#include "tessera/core/function_ref.h"
#include "tessera/core/refusal.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/network/node_trial.h"
#include "tessera/targets/tensix/ops/layer_config.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace tessera::tensix {

using SpecId = int;    // of a TensorSpec that was seen
using ConfigId = int;  // of a LayerConfig that was seen
constexpr SpecId kNoSpec = -1;

// Bytes are those of a core.
struct Trial {
  SpecId result = kNoSpec;  // none: refused
  double ns = 0;            // kernels and a gap before each program
  double kernel_ns = 0;
  std::int64_t programs = 0;
  std::int64_t peak_bytes = 0;               // with operands in L1
  std::int64_t operand_bytes = 0;            // those
  std::int64_t list_bytes = 0;               // of L1_SMALL
  bool reshards = false;                     // from shards to others on its way
  std::string config;                        // in words
  Refusal refusal;                           // where it does not fit; its message is the lasting one
  std::optional<MemoryConfig> input_shards;  // where a convolution brings its input to, if it is not there

  bool fits() const { return result != kNoSpec; }
};

// As it comes from a card: its result is not numbered yet.
struct UnnumberedTrial {
  Trial trial;
  std::optional<TensorSpec> result;
};

// Computes the pieces [0, count), here or elsewhere, and hands out what each came to.
using ScorePieces = std::function<std::vector<std::vector<std::byte>>(
    std::size_t count, FunctionRef<std::vector<std::byte>(std::size_t)> piece)>;

class Trials {
 public:
  Trials(const tensix::LoweredGraph& network, const Machine& machine, std::int64_t l1_small_bytes);

  SpecId id_of(const TensorSpec& spec);
  const TensorSpec& spec(SpecId id) const { return specs_[static_cast<std::size_t>(id)]; }
  std::int64_t bytes(SpecId id) const { return bytes_[static_cast<std::size_t>(id)]; }  // in L1; 0: in DRAM
  ConfigId id_of(const tensix::LayerConfig& config);
  const tensix::LayerConfig& config(ConfigId id) const { return configs_[static_cast<std::size_t>(id)]; }

  // Operators that take the same have the same kind, whatever they are called.
  int kind(std::size_t node) const { return kinds_[node]; }
  const Trial& node(std::size_t node, std::span<const SpecId> inputs, ConfigId config);
  const Trial& move(SpecId from, SpecId to);

  // From here on what is not known is put down, and answered as refused, until it is scored.
  void collect() { collecting_ = true; }
  bool collecting() const { return collecting_; }
  std::size_t unknown() const { return wanted_.size(); }
  // Finds out what was put down; whether there was anything.
  bool score(const ScorePieces& pieces);

  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::size_t count() const { return nodes_.size() + moves_.size(); }
  const TensixSpec& card() const { return card_; }

 private:
  using NodeKey = std::tuple<int, ConfigId, std::vector<SpecId>>;
  using MoveKey = std::pair<SpecId, SpecId>;
  struct Wanted {
    std::size_t node = 0;
    std::variant<NodeKey, MoveKey> key;
  };

  UnnumberedTrial tried(const Wanted& wanted);
  Trial numbered(UnnumberedTrial trial);
  const Trial& found(Wanted wanted);

  TensixSpec card_;
  tensix::TrialCard trial_card_;
  std::int64_t limit_bytes_;
  std::vector<int> kinds_;
  std::vector<TensorSpec> specs_;
  std::vector<std::int64_t> bytes_;
  std::map<std::string, SpecId> spec_ids_;
  std::vector<tensix::LayerConfig> configs_;
  std::map<std::string, ConfigId> config_ids_;
  std::map<NodeKey, Trial> nodes_;
  std::map<MoveKey, Trial> moves_;
  bool collecting_ = false;
  std::vector<Wanted> wanted_;
  std::set<std::variant<NodeKey, MoveKey>> wanted_keys_;
};

// Index of the last node that reads each value; the number of nodes for outputs of the network, -1 for what nobody
// reads.
std::vector<std::int64_t> last_uses(const tensix::LoweredGraph& network);

// Every field, in one line.
std::string config_key(const tensix::LayerConfig& config);

}  // namespace tessera::tensix
