#pragma once

// One input, one output, element by element. alpha and beta mean what the operator of that name means by them.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Unary {
  static constexpr std::string_view kName = "Unary";

  enum class Kind : std::uint8_t {
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    ceil,
    celu,
    cos,
    cosh,
    elu,
    erf,
    exp,
    floor,
    gelu,
    gelu_tanh,
    hard_sigmoid,
    hard_swish,
    identity,
    is_inf,
    is_nan,
    leaky_relu,
    log,
    logical_not,
    mish,
    neg,
    reciprocal,
    relu,
    round,
    selu,
    shrink,
    sigmoid,
    sign,
    silu,
    sin,
    sinh,
    softplus,
    softsign,
    sqrt,
    tan,
    tanh,
    thresholded_relu,
  };
  Kind kind = Kind::identity;
  float alpha = 0;
  float beta = 0;  // is_inf: alpha = detect negative, beta = detect positive; shrink: alpha = lambda, beta = bias;
                   // selu: beta = gamma; silu: x * sigmoid(alpha * x), an alpha of 0 standing for 1

  bool operator==(const Unary&) const = default;
};

TSR_API std::vector<TensorType> infer(const Unary& op, const Knowns& inputs);
TSR_API Work work(const Unary& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Unary& op, const Arrays& inputs);

}  // namespace tessera
