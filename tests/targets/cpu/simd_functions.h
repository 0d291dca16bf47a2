#pragma once

// The functions of simd_math.h over arrays, for the instruction set of the including file.

#include "tessera/targets/cpu/kernels/activation_simd.h"

namespace tessera::cpu {

enum class SimdFunction { exp, expm1, sigmoid, silu, log, softplus, tanh, erf, gelu, gelu_tanh, mish };

namespace TSR_ISA {

TSR_INLINE Vec value_of(SimdFunction function, Vec x) {
  switch (function) {
    case SimdFunction::exp: return exp(x);
    case SimdFunction::expm1: return expm1(x);
    case SimdFunction::sigmoid: return sigmoid(x);
    case SimdFunction::silu: return gated(x, x);
    case SimdFunction::log: return log(x);
    case SimdFunction::softplus: return softplus(x);
    case SimdFunction::tanh: return tanh(x);
    case SimdFunction::erf: return erf(x);
    case SimdFunction::gelu: return gelu(x);
    case SimdFunction::gelu_tanh: return gelu_tanh(x);
    case SimdFunction::mish: return mish(x);
  }
  return x;
}

// n must be a multiple of 16.
void values_of(SimdFunction function, const float* x, float* y, int n);

}  // namespace TSR_ISA
}  // namespace tessera::cpu
