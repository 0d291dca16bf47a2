#pragma once

// Kernels of LTC layers in training: one step of several vectors of samples, forward with every unfold kept, and back.
// Every value of a state or input is `stride` floats, one for each sample.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::ncp {

constexpr int kMostSampleVectors = 4;
constexpr int kSynapseSums = 4;  // of d_current * open, d_conductance * open, d_argument, d_argument * (v - mu)
constexpr int kUnitSums = 3;     // of d_capacity, and of the gradients of current and conductance

// By destination.
struct SynapseList {
  const std::int32_t* first = nullptr;  // of each destination, and one past the last
  const std::int32_t* source = nullptr;
  const float* slope = nullptr;  // -sigma / ln 2
  const float* mu = nullptr;
  const float* sigma = nullptr;
  const float* weight = nullptr;   // made positive
  const float* current = nullptr;  // weight times reversal potential
};

struct LtcTrainingStep {
  std::int64_t units = 0;
  std::int64_t inputs = 0;
  int unfolds = 0;
  int vectors = 0;  // of samples that still run, at most kMostSampleVectors
  std::int64_t stride = 0;
  float epsilon = 0;
  SynapseList sensory{}, recurrent{};
  const float* leak = nullptr;          // gleak, of each unit
  const float* leak_current = nullptr;  // gleak * vleak
  const float* capacity = nullptr;      // cm
  const float* elapsed = nullptr;       // of each sample, over unfolds
  const float* input = nullptr;         // mapped
  float* states = nullptr;              // before each unfold, and after the last: the first is given
  float* inverse = nullptr;             // 1 / denominator of each unfold
  float* time_slope = nullptr;          // of each unfold's state by its time; null: not wanted
  float* scratch = nullptr;             // four times a state

  // On the way back.
  float* d = nullptr;               // of the state after the step, then of the one before it
  float* d_input = nullptr;         // written
  float* d_elapsed = nullptr;       // of each sample, over unfolds: written where there is a time_slope
  float* recurrent_sums = nullptr;  // added to: [synapse][kSynapseSums][lanes]
  float* sensory_sums = nullptr;
  float* unit_sums = nullptr;  // [unit][kUnitSums][lanes]
};

struct LtcGradientKernel {
  const char* name;
  int lanes;
  void (*forward)(const LtcTrainingStep&) noexcept;
  void (*backward)(const LtcTrainingStep&) noexcept;
};

TSR_EACH_ISA(extern const LtcGradientKernel kLtcGradientKernel;)

// For active_isa().
const LtcGradientKernel& ltc_gradient_kernel();

}  // namespace tessera::ncp
