#pragma once

// What simd/ has for arrays, for each instruction set.

#include "tessera/core/isa_functions.h"

namespace tessera::simd {

enum class Function {
  exp,
  expm1,
  sigmoid,
  silu,
  log,
  softplus,
  tanh,
  erf,
  gelu,
  gelu_tanh,
  mish,
  quick_exp,
  quick_sigmoid,
  quick_tanh,
  quick_sigmoid_exp2,
  rounded_to_bfloat16,
  rounded_to_float16,
};

// n must be a multiple of 16.
TSR_EACH_ISA(void values_of(Function function, const float* x, float* y, int n);)

}  // namespace tessera::simd
