#include "tests/simd/functions.h"

#include "tessera/simd/halves.h"
#include "tessera/simd/quick.h"

namespace tessera::simd::TSR_ISA {
namespace {

TSR_INLINE Vec value_of(Function function, Vec x) {
  switch (function) {
    case Function::exp: return exp(x);
    case Function::expm1: return expm1(x);
    case Function::sigmoid: return sigmoid(x);
    case Function::silu: return gated(x, x);
    case Function::log: return log(x);
    case Function::softplus: return softplus(x);
    case Function::tanh: return tanh(x);
    case Function::erf: return erf(x);
    case Function::gelu: return gelu(x);
    case Function::gelu_tanh: return gelu_tanh(x);
    case Function::mish: return mish(x);
    case Function::quick_exp: return quick_exp(x);
    case Function::quick_sigmoid: return quick_sigmoid(x);
    case Function::quick_tanh: return quick_tanh(x);
    case Function::quick_sigmoid_exp2: return quick_sigmoid_exp2(x);
    case Function::rounded_to_bfloat16: return rounded_to_bfloat16(x);
    case Function::rounded_to_float16: return rounded_to_float16(x);
  }
  return x;
}

}  // namespace

void values_of(Function function, const float* x, float* y, int n) {
  for (int i = 0; i < n; i += Vec::kWidth) value_of(function, Vec::load(x + i)).store(y + i);
}

}  // namespace tessera::simd::TSR_ISA
