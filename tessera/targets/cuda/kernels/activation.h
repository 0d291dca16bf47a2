#pragma once

// What kernels apply to a result while it is in registers: a curve, then two bounds. Read by nvcc and by the C++
// compiler.

#include <cstdint>
#include <limits>

namespace tessera::cuda {

// alpha and beta as in the graph's operator of that name.
enum class Curve : std::uint8_t {
  none,
  silu,
  sigmoid,
  tanh,
  hard_sigmoid,
  hard_swish,
  leaky_relu,
  elu,
  gelu,
  gelu_tanh,
  softplus,
  mish,
  abs,
  erf,
  exp,
  log,
  neg,
  reciprocal,
  sqrt,
};

struct Activation {
  Curve curve = Curve::none;
  float alpha = 0, beta = 0;
  float lower = -std::numeric_limits<float>::infinity(), upper = std::numeric_limits<float>::infinity();

  constexpr bool operator==(const Activation&) const = default;
};

inline constexpr Activation kPlain{};
inline constexpr Activation kRelu{.lower = 0};
inline constexpr Activation kRelu6{.lower = 0, .upper = 6};
inline constexpr Activation kSilu{.curve = Curve::silu};

}  // namespace tessera::cuda
