#pragma once

#include "tessera/targets/cpu/kernels/activation.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {

TSR_INLINE Vec apply(const Activation& activation, Vec x) {
  switch (activation.kind) {
    case Activation::Kind::none: return x;
    case Activation::Kind::relu: return relu(x);
    case Activation::Kind::clip: return clip(x, Vec::all(activation.alpha), Vec::all(activation.beta));
    case Activation::Kind::leaky_relu: return select(x < Vec::zero(), x * Vec::all(activation.alpha), x);
    case Activation::Kind::elu: return select(x < Vec::zero(), Vec::all(activation.alpha) * expm1(x), x);
    case Activation::Kind::sigmoid: return sigmoid(x);
    case Activation::Kind::silu: return gated(x, x * Vec::all(activation.alpha));
    case Activation::Kind::hard_sigmoid:
      return clip(fma(x, Vec::all(activation.alpha), Vec::all(activation.beta)), Vec::zero(), Vec::all(1.0f));
    case Activation::Kind::hard_swish:
      return x * clip(fma(x, Vec::all(1.0f / 6.0f), Vec::all(0.5f)), Vec::zero(), Vec::all(1.0f));
    case Activation::Kind::tanh: return tanh(x);
    case Activation::Kind::softplus: return softplus(x);
    case Activation::Kind::mish: return mish(x);
    case Activation::Kind::gelu: return gelu(x);
    case Activation::Kind::gelu_tanh: return gelu_tanh(x);
  }
  return x;
}

}  // namespace tessera::cpu::TSR_ISA
