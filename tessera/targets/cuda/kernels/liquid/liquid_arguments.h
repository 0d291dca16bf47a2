#pragma once

// What the host passes to the kernels of liquid layers, by value. Read by nvcc and by the C++ compiler. Places in
// shared memory are counted in floats from its beginning.

#include <cstdint>

namespace tessera::cuda {

enum class LiquidTimes : std::int32_t { none, each_step, each_unit };

// Sequences on the device. Steps are counted from one element to the next along that axis; 0 where it is the same for
// all.
struct LiquidSequence {
  const float* x;
  const float* times;  // null: 1
  const float* first;  // batch x units; null: zeros
  float* states;       // null: not wanted
  float* last;         // batch x units, after the last step; null: not wanted
  float* output;       // what the projection makes, at every step or at the last; null: there is none
  std::int64_t x_sample, x_step;
  std::int64_t time_sample, time_step, time_unit;
  std::int64_t state_sample, state_step;
  std::int64_t output_sample, output_step;  // a step of 0: the last one alone
  std::int32_t batch, steps;
};

// --- CfC -----------------------------------------------------------------------------------------------------------

inline constexpr int kCfcThreads = 512, kCfcWarps = kCfcThreads / 32;
inline constexpr int kCfcDepth = 16;    // inputs of one step of a product
inline constexpr int kTensorRows = 16;  // results of one tile of a product, by tensor cores
inline constexpr int kPlainRows = 32;   // and by single lanes
inline constexpr int kCfcStages = 12;   // products of one step, of all cells together

// Tiles that a warp can multiply together without running out of registers.
constexpr int most_grouped(bool tensor_cores, int samples) {
  if (tensor_cores) return samples <= 16 ? 3 : 2;
  return samples <= 4 ? 3 : samples <= 8 ? 2 : 1;
}
template <bool tensor_cores, int samples>
inline constexpr int kMostGrouped = most_grouped(tensor_cores, samples);

// As Cfc::Activation and Cfc::Head.
enum class CfcActivation : std::int32_t { lecun_tanh, silu, relu, tanh, gelu };
enum class CfcHead : std::int32_t { tanh, none, lecun_tanh };

enum class CfcFinish : std::int32_t { activate, gated, no_gate, pure, project };

// Rows of samples that hear the result of a stage: where they lie, and how far apart.
struct CfcTarget {
  std::int32_t at;      // -1: nobody
  std::int32_t pitch;   // from one sample to the next
  std::int32_t toggle;  // to the second copy, which odd steps read; 0: there is one
  std::int32_t later;   // 1: the step after this one reads it
};

// One product of the network and what becomes of it.
struct CfcStage {
  std::int32_t weights, bias;  // places in the block's weights and constants
  std::int32_t in, in_pitch, in_toggle;
  std::int32_t depth;   // steps of kCfcDepth inputs
  std::int32_t tiles;   // of rows
  std::int32_t group;   // tiles that a warp multiplies together
  std::int32_t slices;  // warps that share a sum
  std::int32_t sum_pitch;
  std::int32_t items, item_count;   // parts of the product, one for a warp at a time: where they are written down
  std::int32_t units, block_units;  // of the whole cluster, of this block; rows of head q start at q * block_units
  std::int32_t unit_shift;          // 2 to this power is at least block_units
  std::int32_t heads;               // 1; 3: the gate's two in one, for a time of 1; 4
  CfcFinish finish;
  std::int32_t state;  // of a cell: where its units start in a row of states
  CfcTarget targets[2];
};

struct CfcArguments {
  LiquidSequence sequence;
  const float* weights;            // of all blocks of a cluster, one after the other
  const float* constants;          // likewise: biases, and time constants and amplitudes of the mode pure behind them
  std::int32_t weights_per_block;  // in floats
  std::int32_t constants_per_block;
  std::int32_t cluster;
  std::int32_t resident;  // 1: weights are copied into shared memory
  std::int32_t weights_at, constants_at, sums_at;
  std::int32_t rows_at, rows_end;    // all rows of samples: zeros before the first step
  std::int32_t staging_at;           // inputs and times of the next step but one, as they arrive
  std::int32_t times_at;             // of this step and the next, one for each sample
  std::int32_t inputs, input_shift;  // 2 to this power is at least inputs
  LiquidTimes times;
  CfcActivation activation;
  CfcHead head;
  std::int32_t units;  // of all cells
  std::int32_t stage_count;
  CfcStage stages[kCfcStages];
};

// --- CfC with weights in registers ---------------------------------------------------------------------------------

inline constexpr int kRegisterThreads = 256, kRegisterWarps = kRegisterThreads / 32;
inline constexpr int kRegisterBackboneSteps = 5;  // of 16 inputs, that a warp has of a tile of the backbone
inline constexpr int kRegisterHeadSteps = 8;      // likewise, of the heads of 8 units
inline constexpr int kRegisterUnits = 8;          // of a warp

struct CfcRegisterArguments {
  LiquidSequence sequence;
  const float* weights;    // of all blocks of a cluster and all their warps, as lanes hold them
  const float* constants;  // of each block: biases of block_width, then of 4 x block_units, time constants, amplitudes
  std::int32_t constants_per_block;
  std::int32_t cluster;
  std::int32_t inputs, input_shift;                  // 2 to a shift is at least the number before it
  std::int32_t width, block_width, width_shift;      // of the backbone: the whole, of a block
  std::int32_t units, block_units, unit_shift;       // likewise
  std::int32_t tiles, slices, sum_pitch;             // of the backbone of a block; slices: warps that share a sum
  std::int32_t groups, head_slices, head_sum_pitch;  // of 8 units
  std::int32_t rows_at, rows_pitch;                  // state and input of each sample
  std::int32_t backbone_at, backbone_pitch;          // what the backbone makes of them
  std::int32_t rows_end;                             // of both: zeros before the first step
  std::int32_t sums_at, staging_at, times_at, barriers_at;
  LiquidTimes times;
  CfcActivation activation;
  CfcHead head;
  CfcFinish finish;
};

// --- LTC -----------------------------------------------------------------------------------------------------------

inline constexpr int kLtcThreads = 512;

enum class LtcSolver : std::int32_t { semi_implicit, explicit_euler, runge_kutta };

// Synapses of a block's units: slot s of unit u is at u * pitch + s. A unit's slots come first; where it has fewer than
// others, the source is -1.
struct LtcSynapses {
  const float* values;  // slope, shift, conductance, current of each: r = conductance / (1 + 2^(slope v + shift))
  const std::int32_t* sources;
  std::int32_t slots, pitch;
  std::int32_t values_at, sources_at;  // in shared memory, if resident
};

struct LtcArguments {
  LiquidSequence sequence;
  LtcSynapses sensory, recurrent;  // pointers: of all blocks of a cluster, one after the other
  const float* membrane;           // likewise: leak conductance, leak potential, capacitance and 0 of each unit
  std::int32_t cluster, resident;
  std::int32_t inputs, input_shift;  // 2 to this power is at least inputs
  std::int32_t units, block_units;
  std::int32_t lanes_shift;  // 2 to this power lanes share the synapses of a unit
  LiquidTimes times;
  LtcSolver solver;
  std::int32_t unfolds;
  float unfold_part, epsilon;                    // of a step's time that an unfold takes
  std::int32_t potentials_at, potentials_pitch;  // what synapses read: two copies, by turns
  std::int32_t inputs_at, inputs_pitch;          // likewise
  std::int32_t own_at;                           // of each unit of each sample: potential, sensed current and
                                                 // conductance, and the sum of rates of a Runge-Kutta step
  std::int32_t membrane_at, staging_at, times_at;
};

}  // namespace tessera::cuda
