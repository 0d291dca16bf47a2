#pragma once

// Activations that kernels apply to a result while it is in registers.

#include <cstdint>

namespace tessera::cpu {

// alpha and beta as in the operator of that name; clip: least and most.
struct Activation {
  enum class Kind : std::uint8_t {
    none,
    relu,
    clip,
    leaky_relu,
    elu,
    sigmoid,
    silu,
    hard_sigmoid,
    hard_swish,
    tanh,
    softplus,
    mish,
    gelu,
    gelu_tanh,
  };
  Kind kind = Kind::none;
  float alpha = 0;
  float beta = 0;
};

}  // namespace tessera::cpu
