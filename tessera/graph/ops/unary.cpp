#include "tessera/graph/ops/unary.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

using internal::narrow;
using internal::wide;
using Kind = Unary::Kind;

bool keeps_any_number(Kind kind) {
  return kind == Kind::abs || kind == Kind::neg || kind == Kind::sign || kind == Kind::relu || kind == Kind::shrink;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
// NaN passes: every comparison with it is false.
double unit_clamp(double x) { return x < 0 ? 0.0 : x > 1 ? 1.0 : x; }

double shrink(double x, double lambda, double bias) {
  return x < -lambda ? x + bias : x > lambda ? x - bias : std::isnan(x) ? x : 0.0;
}

double evaluate(const Unary& op, double x) {
  const double alpha = op.alpha, beta = op.beta;
  switch (op.kind) {
    case Kind::abs: return std::abs(x);
    case Kind::acos: return std::acos(x);
    case Kind::acosh: return std::acosh(x);
    case Kind::asin: return std::asin(x);
    case Kind::asinh: return std::asinh(x);
    case Kind::atan: return std::atan(x);
    case Kind::atanh: return std::atanh(x);
    case Kind::ceil: return std::ceil(x);
    case Kind::celu: return x > 0 ? x : alpha * std::expm1(x / alpha);
    case Kind::cos: return std::cos(x);
    case Kind::cosh: return std::cosh(x);
    case Kind::elu: return x > 0 ? x : alpha * std::expm1(x);
    case Kind::erf: return std::erf(x);
    case Kind::exp: return std::exp(x);
    case Kind::floor: return std::floor(x);
    case Kind::gelu: return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Kind::gelu_tanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Kind::hard_sigmoid: return unit_clamp(alpha * x + beta);
    case Kind::hard_swish: return x * unit_clamp(x / 6.0 + 0.5);
    case Kind::leaky_relu: return x < 0 ? alpha * x : x;
    case Kind::log: return std::log(x);
    case Kind::mish: return x * std::tanh(softplus(x));
    case Kind::neg: return -x;
    case Kind::reciprocal: return 1.0 / x;
    case Kind::relu: return x < 0 ? 0.0 : x;
    case Kind::round: return std::nearbyint(x);  // half to even
    case Kind::selu: return beta * (x > 0 ? x : alpha * std::expm1(x));
    case Kind::shrink: return shrink(x, alpha, beta);
    case Kind::sigmoid: return sigmoid(x);
    case Kind::sign: return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
    case Kind::silu: return x * sigmoid(op.alpha == 0 ? x : alpha * x);
    case Kind::sin: return std::sin(x);
    case Kind::sinh: return std::sinh(x);
    case Kind::softplus: return softplus(x);
    case Kind::softsign: return x / (1.0 + std::abs(x));
    case Kind::sqrt: return std::sqrt(x);
    case Kind::tan: return std::tan(x);
    case Kind::tanh: return std::tanh(x);
    case Kind::thresholded_relu: return x > alpha ? x : 0.0;  // NaN: 0, as ONNX says
    case Kind::bitwise_not:
    case Kind::identity:
    case Kind::is_inf:
    case Kind::is_nan:
    case Kind::logical_not: break;
  }
  fail(Code::internal, "Unary: kind {} has no formula", static_cast<int>(op.kind));
}

template <class T>
T evaluate_integer(const Unary& op, T x) {
  const auto bits = static_cast<std::uint64_t>(x);
  switch (op.kind) {
    case Kind::abs: return x < 0 ? static_cast<T>(0 - bits) : x;
    case Kind::neg: return static_cast<T>(0 - bits);
    case Kind::bitwise_not: return static_cast<T>(~bits);
    case Kind::relu: return x < 0 ? T{0} : x;
    case Kind::sign: return static_cast<T>(x > 0 ? 1 : x < 0 ? -1 : 0);
    default: return narrow<T>(shrink(wide(x), op.alpha, op.beta));
  }
}

Array tests_of(const Unary& op, const Array& x) {
  Array y(ElementType::boolean, x.shape());
  const auto ys = y.as<bool>();
  visit_floating_type(x.type(), Unary::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const double v = wide(xs[i]);
      ys[i] = op.kind == Kind::is_nan ? std::isnan(v) : std::isinf(v) && (v < 0 ? op.alpha != 0 : op.beta != 0);
    }
  });
  return y;
}

}  // namespace

std::vector<TensorType> infer(const Unary& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const TensorType& x = inputs[0];
  switch (op.kind) {
    case Kind::identity: break;
    case Kind::logical_not: internal::expect_type(inputs, 0, ElementType::boolean, inputs.op()); break;
    case Kind::bitwise_not:
      if (!internal::is_integer(x.type))
        fail(Code::unsupported, "{}: bitwise not works on integers, not on {}", inputs.op(), name(x.type));
      break;
    case Kind::is_inf:
    case Kind::is_nan:
      internal::expect_floating(inputs, 0, inputs.op());
      return {TensorType(ElementType::boolean, x.dims)};
    default:
      if (keeps_any_number(op.kind))
        internal::expect_number(inputs, 0, inputs.op());
      else
        internal::expect_floating(inputs, 0, inputs.op());
  }
  return {x};
}

Work work(const Unary& op, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs, op.kind == Kind::identity ? 0 : 1);
}

std::vector<Array> reference(const Unary& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  if (op.kind == Kind::identity) return {x};
  if (op.kind == Kind::is_inf || op.kind == Kind::is_nan) return {tests_of(op, x)};
  Array y(x.type(), x.shape());
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto xs = x.as<T>();
    const auto ys = y.as<T>();
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>)
        ys[i] = !xs[i];
      else if constexpr (is_floating_v<T>)
        ys[i] = narrow<T>(evaluate(op, wide(xs[i])));
      else
        ys[i] = evaluate_integer(op, xs[i]);
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
