#pragma once

// A whole network on a simulated card: every operator in its turn, results handed on in L1 while they fit.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/card/l1_timeline.h"
#include "tessera/targets/tensix/card/move_kind.h"
#include "tessera/targets/tensix/card/tensor_spec.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/ops/layer_config.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

// One operator, or a move that made room for one.
struct SimulatedStep {
  std::string node;                   // of the graph, or the value that was moved
  std::string op;                     // "conv2d", "spill"
  std::optional<MoveKind> move = {};  // instead of an operator
  std::string config;                 // "HEIGHT_SHARDED 3136x64, act_block_h 64"
  std::string result;                 // "[1, 1, 3136, 64] bfloat16 TILE"
  std::int64_t cores = 0;
  // Bytes of a core: circular buffers of its largest program, what its halo took, its result (0: in DRAM), and the most
  // that was in use at once while it ran, all that lay in L1 before included.
  std::int64_t circular_buffer_bytes = 0, halo_bytes = 0, output_bytes = 0, l1_peak_bytes = 0;
  std::int64_t l1_small_bytes = 0;  // afterwards: lists that programs keep
  // Of a convolution: rows of the blocks it works by (0: it runs as a product, or in DRAM), and whether it has moved
  // its sharded input into other shards itself.
  std::int64_t act_block_h = 0;
  bool reshards_input = false;
  // Of its programs' kernels together, one after the other; 0 on a machine without prices (program_time.h). Gaps
  // between programs, dispatch and transfers to the host are not in it.
  StepTime time = {};
  std::int64_t programs = 0;
  std::string note;  // what did not fit and what was done about it
};

// What a plan says of an operator besides its LayerConfig.
struct PlannedCall {
  struct Move {
    MoveKind kind = MoveKind::reshard;
    ValueId value = kNoValue;
    MemoryConfig to;
  };
  std::vector<Move> moves;     // before it
  std::vector<ValueId> frees;  // after it
};

struct SimulateOptions {
  DType dtype = DType::bfloat16;           // of results
  DType weights_dtype = DType::bfloat8_b;  // and biases
  ComputeConfig compute = {};
  LayerConfigs layers = {};
  std::function<void(const SimulatedStep&)> on_step = {};
  // Each result as the graph has it, where the device has values. Reading them takes time.
  std::function<void(const LoweredNode&, const Array&)> on_result = {};
  // One for each node: exactly these calls are made, with the configs of `layers` and nothing in their stead; what does
  // not fit is an Error. None: as described below.
  std::vector<PlannedCall> planned = {};
  std::map<ValueId, MemoryConfig> inputs = {};  // where they are sent; others: interleaved in DRAM
};

struct Simulation {
  std::vector<SimulatedStep> steps;
  std::vector<std::optional<TensorSpec>> results;  // of each node; none: not on the card
  std::vector<Array> outputs;                      // in the graph's order; none where the device has no values
  L1Timeline timeline;
};

// Inputs come from the host through DRAM. Where an operator does not fit into L1, what is needed last goes to DRAM
// first; then a convolution is tried with smaller blocks, other shards, and slice by slice; each such step is told. If
// nothing helps, the Error is that of the first attempt.
TSR_API Simulation simulate(const std::shared_ptr<Device>& device, const LoweredGraph& network,
                            const std::vector<Array>& inputs, const SimulateOptions& options = {});

}  // namespace tessera::tensix
