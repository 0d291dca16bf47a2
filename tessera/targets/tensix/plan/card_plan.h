#pragma once

// A network placed on a Tensix card: for every operator the call with all it is given, what is moved before it, what is
// freed after it, and what that was predicted to take. A plan is followed, never searched: whoever runs or emits it
// makes exactly these calls.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"
#include "tessera/targets/tensix/card/memory_config.h"
#include "tessera/targets/tensix/card/move_kind.h"
#include "tessera/targets/tensix/card/tensor_placement.h"
#include "tessera/targets/tensix/network/simulate.h"
#include "tessera/targets/tensix/ops/call_role.h"
#include "tessera/targets/tensix/ops/layer_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class Objective : std::uint8_t {
  device,      // kernels and the gaps between them
  end_to_end,  // with the host's dispatch and transfers
};
TSR_API std::string_view name(Objective objective);

// "layer3.*:shard=BLOCK": a field of all nodes whose name fits the pattern (* and ?). Fields are those of LayerConfig
// under TTNN's names, and shard for shard_layout.
struct Pin {
  std::string nodes, field, value;
  bool operator==(const Pin&) const = default;
};

// What was asked for.
struct CardPlanRequest {
  Objective objective = Objective::device;
  double min_pcc = 0;  // of the network's outputs against float32, by the card's arithmetic; 0: any
  std::optional<std::int64_t> max_reshards = {};  // before steps and within convolutions; none: what is fastest
  std::vector<Pin> pins;
  std::int64_t l1_small_bytes = 32768;
  bool metal_trace = true;
  int command_queues = 2;
  std::int64_t mesh = 1;  // cards, each with a batch of its own
  double budget_s = 20;   // of searching, at most
  bool partial = false;   // what the card has no operator for runs on the host
  bool operator==(const CardPlanRequest&) const = default;
};

// A value goes elsewhere before a step.
struct PlannedMove {
  using Kind = MoveKind;
  Kind kind = Kind::reshard;
  std::string value;
  MemoryConfig to;
  double ns = 0;
  std::string why;
  std::int64_t l1_peak_bytes = 0;  // predicted, of a core
};

// What else was weighed for a step.
struct WeighedConfig {
  std::string config;         // "BLOCK_SHARDED 416x128, act_block_h 416, weights x2"
  std::string refusal;        // why it cannot run here, with numbers; empty: it can
  double ns = 0;              // of the step with the moves it would need; 0 where it cannot run
  std::int64_t l1_bytes = 0;  // wanted of a core
  bool chosen = false;        // this is the step itself, as it was weighed against the others
};

struct PlannedStep {
  std::string node;  // of the lowered network
  std::string op;    // TTNN's name
  CallRole role = CallRole::computes;
  tensix::LayerConfig config;  // every field that the call is given
  std::vector<PlannedMove> moves;
  std::vector<std::string> reads;  // values of the graph that are computed
  std::string makes;
  std::vector<std::string> frees;  // values nobody reads after it
  Placement result;
  tensix::SimulatedStep predicted;  // cores, bytes of a core, time and what bounds it; moves are not in it
  std::optional<double> pcc;        // of its result against float32, where it was measured
  std::string why;                  // chosen for, in a line
  std::vector<WeighedConfig> alternatives;
};

struct CardPlan {
  static constexpr int kSchema = 1;

  std::string model;                      // a zoo name or the file's name
  std::vector<std::string> model_inputs;  // "x float32[16, 3, 224, 224]"
  std::string network_digest;             // of the lowered network: operators and shapes, not weights
  std::string machine;                    // name
  std::string machine_digest;
  CardPlanRequest request;
  std::int64_t batch = 1;
  // Convolutions over the network's input that step by one over an image that the host has folded
  // (tensix/fold_input.h). Steps are those of planned_network().
  std::vector<std::string> folded_inputs;
  // Images that go through the steps at a time, those of the last pass filled up with zeros (tensix/batch_passes.h); 0:
  // the whole batch. Steps, moves and their times are those of one pass.
  std::int64_t pass_images = 0;
  std::int64_t passes() const { return pass_images == 0 ? 1 : (batch + pass_images - 1) / pass_images; }
  // So many images of a pass go side by side in channels, each a group of its own (tensix/batch_groups.h).
  std::int64_t grouped_images = 1;
  // Where the host writes the network's inputs, if not row by row over the banks of DRAM.
  struct Input {
    std::string value;
    MemoryConfig memory;
  };
  std::vector<Input> placed_inputs;
  std::vector<PlannedStep> steps;
  // The search was interrupted when it had weighed so many of all operators: this is the best plan it had by then.
  struct Interruption {
    std::int64_t weighed = 0, of = 0;
  };
  std::optional<Interruption> interrupted;
  // How it is run again and again: as the request has it, or what is fastest of what it allows if end-to-end time
  // counts.
  bool metal_trace = true;
  int command_queues = 2;
  bool separate_transfers = false;  // outputs are read through the second queue too

  // Predicted, of all passes.
  double kernels_ns = 0;     // steps and moves
  double device_ns = 0;      // with the gaps between programs
  double end_to_end_ns = 0;  // of a batch, with the host, as the request has it
  double latency_ns = 0;     // from the first batch to its results, with the host; 0: not known
  std::int64_t programs = 0;
  std::int64_t l1_peak_bytes = 0, l1_limit_bytes = 0;  // of a core
  std::optional<double> pcc;                           // of the outputs, where it was measured
};

}  // namespace tessera::tensix
