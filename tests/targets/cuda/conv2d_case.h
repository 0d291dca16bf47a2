#pragma once

// Convolutions of random numbers, run by one kernel and compared with the graph's definition.

#include "tessera/targets/cuda/kernels/conv2d/conv2d.h"

#include <cstdint>
#include <string>

namespace tessera::cuda {

enum class Values : std::uint8_t {
  random,      // normal, as a network's
  cancelling,  // large terms whose sum is small: shows where sums are not float32
  specials,    // random with infinities and NaN
};

struct Conv2dCase {
  std::string name;
  Conv2dProblem problem;
  bool bias = true;
  Values values = Values::random;
};

// Every kernel that takes the case, with every number of splits it has, against the definition in double precision. The
// tolerance is computed for each result: its rounding, and the rounding of as many float32 additions as it is made of.
// Returns how many kernels ran.
int check_kernels(const Conv2dCase& test, std::uint64_t seed = 1);

// Why there is nothing to run on; empty: there is.
std::string no_device();

}  // namespace tessera::cuda
