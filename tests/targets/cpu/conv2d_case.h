#pragma once

// Convolutions of random numbers for the tests of their kernels.

#include "tests/targets/cpu/dense_case.h"

namespace tessera::cpu {

struct Conv2dSpec {
  std::int64_t n = 1, ic = 1, oc = 1;
  std::vector<std::int64_t> spatial, kernel, strides = {}, dilations = {}, pads = {};
  std::int64_t groups = 1;
  bool bias = true, specials = false;
  Fusion fusion = {};
  ElementType type = ElementType::float32;
};

KernelCase conv2d_case(const Conv2dSpec& spec, std::mt19937_64& random);

// Instruction sets that this CPU has of portable, AVX2 and AVX-512.
std::size_t vector_sets();
// How many of the names begin so.
std::size_t count_of(const std::vector<std::string>& names, std::string_view prefix);

// Names of all kernels that took it.
std::vector<std::string> check_spec(const Conv2dSpec& spec, std::uint64_t seed = 1);

}  // namespace tessera::cpu
