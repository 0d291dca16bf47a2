#pragma once

// One operator of a network, or one move of a tensor, on a card with nothing on it but what it reads: what it leaves,
// what it takes of L1 and how long it runs.

#include "tessera/core/export.h"
#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"
#include "tessera/targets/tensix/ops/layer_config.h"

#include <memory>
#include <optional>
#include <span>

namespace tessera::tensix {

struct NodeTrial {
  std::optional<TensorSpec> result;  // none: refused
  std::optional<Refusal> refusal;
  std::optional<Conv2dPlan> plan;  // of a convolution
  SimulatedStep step;
  std::int64_t operand_bytes = 0;  // of a core: operands in L1 before it ran; they are in the step's peak
};

class TSR_API TrialCard {
 public:
  // The network must outlive it.
  TrialCard(const LoweredGraph& network, const Machine& machine, std::int64_t l1_small_bytes);
  ~TrialCard();
  TrialCard(const TrialCard&) = delete;
  TrialCard& operator=(const TrialCard&) = delete;

  // By the rules of a planned run: nothing is tried in its stead.
  NodeTrial try_node(std::size_t node, std::span<const TensorSpec> inputs, const LayerConfig& config);
  NodeTrial try_move(const TensorSpec& from, const MemoryConfig& to);  // where it is: to another address
  std::int64_t bytes_of(const TensorSpec& spec) const;                 // of a core's L1
  std::int64_t limit_bytes() const;                                    // of a core's L1, without L1_SMALL

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::tensix
