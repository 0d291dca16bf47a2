#pragma once

// Liquid layers of random numbers, run by every kernel that takes them and compared with the graph's definition.
//
// Errors of a recurrent layer feed on each other, so that a bound for a whole sequence is either useless or a guess.
// Instead every step is held against the definition of one step from the state that the kernel itself had before it: if
// each of them is right, the sequence is. The tolerance of each result is computed by carrying roundings through the
// step (liquid_bounds.h).

#include "tessera/targets/cuda/kernels/liquid/cfc.h"
#include "tessera/targets/cuda/kernels/liquid/ltc.h"

#include <cstdint>
#include <string>

namespace tessera::cuda {

enum class LiquidValues : std::uint8_t {
  random,      // as a network begins
  saturating,  // weights 30 times as large: gates at their ends
  specials,    // random with infinities and NaN among inputs
};

struct CfcCase {
  std::string name;
  CfcProblem problem;
  bool one_time = false;  // a single time for all steps
  bool first_state = false;
  double absent = 0;  // part of the heads' weights that are 0, as in a wiring
  LiquidValues values = LiquidValues::random;
};
// In tf32 and in f32, with every number of samples and every cluster. Returns how many ways ran.
int check_kernels(const CfcCase& test, std::uint64_t seed = 1);

struct LtcCase {
  std::string name;
  LtcProblem problem;  // fan-ins are set by what is drawn
  bool one_time = false;
  bool first_state = false;
  double absent = 0;  // part of the synapses that are not there
  LiquidValues values = LiquidValues::random;
};
int check_kernels(const LtcCase& test, std::uint64_t seed = 1);

}  // namespace tessera::cuda
