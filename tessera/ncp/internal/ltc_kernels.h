#pragma once

// The kernel of fast LTC layers: the six (or so) unfolds of one step over the synapses that exist.

#include "tessera/core/isa.h"
#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::ncp {

// Synapses into groups of destinations, as many as a vector has lanes: slot s of a group holds one synapse for each of
// its destinations. Those with fewer synapses are padded with ones of weight 0 that come from themselves.
struct SynapseTable {
  const std::int32_t* first_slot = nullptr;  // of each group, and one past the last
  const std::int32_t* shared = nullptr;      // per slot: the source if all lanes have the same, else -1
  const std::int32_t* source = nullptr;      // per slot and lane
  const float* slope = nullptr;              // -sigma / ln 2
  const float* shift = nullptr;              // sigma mu / ln 2
  const float* weight = nullptr;             // made positive
  const float* current = nullptr;            // weight times reversal potential
  const std::int32_t* fan_in = nullptr;      // per destination: slots that are not padding
};

struct LtcStep {
  std::int64_t groups = 0;  // of destinations
  std::int64_t inputs = 0;
  int unfolds = 0;
  float epsilon = 0;
  SynapseTable sensory{};
  SynapseTable recurrent{};
  const float* leak = nullptr;          // gleak, per destination
  const float* leak_current = nullptr;  // gleak * vleak
  const float* capacity = nullptr;      // cm
  const float* elapsed = nullptr;       // per sample, over unfolds
  const float* input = nullptr;         // mapped
  float* state = nullptr;               // read and written
  float* scratch = nullptr;             // three times a state
};

struct LtcKernel {
  const char* name;
  int lanes;
  // One sample: lanes are destinations. Arrays of states and inputs are plain; four vectors from the beginning of each
  // can be read, whatever its size.
  void (*run_one)(const LtcStep&) noexcept;
  // As many samples as there are lanes: every value of a state or input is a vector.
  void (*run_lanes)(const LtcStep&) noexcept;
};

TSR_EACH_ISA(extern const LtcKernel kLtcKernel;)

// For active_isa().
const LtcKernel& ltc_kernel(Isa isa = active_isa());

}  // namespace tessera::ncp
