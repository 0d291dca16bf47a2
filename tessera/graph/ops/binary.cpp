#include "tessera/graph/ops/binary.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"
#include "tessera/graph/ops/internal/walk.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using internal::narrow;
using internal::wide;
using Kind = Binary::Kind;

bool is_comparison(Kind kind) {
  return kind == Kind::equal || kind == Kind::less || kind == Kind::less_equal || kind == Kind::greater ||
         kind == Kind::greater_equal;
}
bool is_logical(Kind kind) {
  return kind == Kind::logical_and || kind == Kind::logical_or || kind == Kind::logical_xor;
}
bool is_bitwise(Kind kind) { return kind == Kind::bit_and || kind == Kind::bit_or || kind == Kind::bit_xor; }
bool is_shift(Kind kind) { return kind == Kind::shift_left || kind == Kind::shift_right; }
bool is_unsigned(ElementType type) {
  return type == ElementType::uint8 || type == ElementType::uint16 || type == ElementType::uint32 ||
         type == ElementType::uint64;
}

template <class A>
bool compare(Kind kind, A a, A b) {
  switch (kind) {
    case Kind::equal: return a == b;
    case Kind::less: return a < b;
    case Kind::less_equal: return a <= b;
    case Kind::greater: return a > b;
    case Kind::greater_equal: return a >= b;
    default: fail(Code::internal, "Binary: kind {} does not compare", static_cast<int>(kind));
  }
}

bool logical(Kind kind, bool a, bool b) {
  return kind == Kind::logical_and ? a && b : kind == Kind::logical_or ? a || b : a != b;
}

double evaluate(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::add: return a + b;
    case Kind::sub: return a - b;
    case Kind::mul: return a * b;
    case Kind::div: return a / b;
    case Kind::min: return std::isnan(a) || a < b ? a : b;
    case Kind::max: return std::isnan(a) || a > b ? a : b;
    case Kind::fmod: return std::fmod(a, b);
    case Kind::prelu: return a < 0 ? a * b : a;
    default: fail(Code::internal, "Binary: kind {} does not work on floating-point numbers", static_cast<int>(kind));
  }
}

template <class T>
T divided(T a, T b) {
  check(b != 0, Code::invalid_argument, "Div: an integer is divided by zero");
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<std::uint64_t>(a));  // lowest() wraps
  return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b, bool sign_of_divisor) {
  check(b != 0, Code::invalid_argument, "Mod: an integer is divided by zero");
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  const T rest = static_cast<T>(a % b);
  return sign_of_divisor && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

template <class T>
T shifted(T a, T by, bool left) {
  if (by >= static_cast<T>(std::numeric_limits<T>::digits)) return 0;
  const std::uint64_t bits = static_cast<std::uint64_t>(a);
  return static_cast<T>(left ? bits << by : bits >> by);
}

template <class T>
T evaluate_integer(Kind kind, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (kind) {
    case Kind::add: return static_cast<T>(x + y);
    case Kind::sub: return static_cast<T>(x - y);
    case Kind::mul: return static_cast<T>(x * y);
    case Kind::div: return divided(a, b);
    case Kind::min: return a < b ? a : b;
    case Kind::max: return a > b ? a : b;
    case Kind::mod: return remainder(a, b, true);
    case Kind::fmod: return remainder(a, b, false);
    case Kind::bit_and: return static_cast<T>(x & y);
    case Kind::bit_or: return static_cast<T>(x | y);
    case Kind::bit_xor: return static_cast<T>(x ^ y);
    case Kind::shift_left: return shifted(a, b, true);
    case Kind::shift_right: return shifted(a, b, false);
    case Kind::prelu: return a < 0 ? static_cast<T>(x * y) : a;
    default: fail(Code::internal, "Binary: kind {} does not work on integers", static_cast<int>(kind));
  }
}

template <class T, class E>
T power(T base, E exponent) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
    if (exponent >= 0) {
      std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
      for (auto rest = static_cast<std::uint64_t>(exponent); rest != 0; rest >>= 1, square *= square)
        if (rest & 1) result *= square;
      return static_cast<T>(result);
    }
  }
  return narrow<T>(std::pow(wide(base), wide(exponent)));
}

// combine(a, b) over all positions of both together.
template <class A, class B, class Y, class Combine>
void combine_all(const Array& a, const Array& b, Array& y, Combine&& combine) {
  const auto as = a.as<A>();
  const auto bs = b.as<B>();
  const auto ys = y.as<Y>();
  if (a.shape() == b.shape()) {
    for (std::size_t i = 0; i < ys.size(); ++i) ys[i] = combine(as[i], bs[i]);
    return;
  }
  std::size_t at = 0;
  internal::walk<2>(
      y.shape().dims(),
      {internal::broadcast_strides(a.shape(), y.shape()), internal::broadcast_strides(b.shape(), y.shape())},
      [&](const auto& offsets) {
        ys[at++] = combine(as[static_cast<std::size_t>(offsets[0])], bs[static_cast<std::size_t>(offsets[1])]);
      });
}

Array powers(const Array& a, const Array& b, const Shape& shape) {
  Array y(a.type(), shape);
  visit_element_type(a.type(), [&](auto base_tag) {
    using T = typename decltype(base_tag)::type;
    visit_element_type(b.type(), [&](auto exponent_tag) {
      using E = typename decltype(exponent_tag)::type;
      if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<E, bool>)
        combine_all<T, E, T>(a, b, y, [](T base, E exponent) { return power(base, exponent); });
    });
  });
  return y;
}

}  // namespace

std::vector<TensorType> infer(const Binary& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  const TensorType &a = inputs[0], &b = inputs[1];
  if (op.kind != Kind::pow) inputs.expect_same_type(0, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const ElementType type = inputs[i].type;
    if (is_logical(op.kind)) {
      internal::expect_type(inputs, i, ElementType::boolean, inputs.op());
    } else if (is_comparison(op.kind)) {
      if (!internal::is_computable(type))
        fail(Code::unsupported, "{}: nothing is compared in {}", inputs.op(), name(type));
    } else if (is_bitwise(op.kind) || op.kind == Kind::mod) {
      if (!internal::is_integer(type))
        fail(Code::unsupported, "{}: input {} is {}, an integer type is needed", inputs.op(), i, name(type));
    } else if (is_shift(op.kind)) {
      if (!is_unsigned(type))
        fail(Code::unsupported, "{}: input {} is {}, an unsigned integer type is needed", inputs.op(), i, name(type));
    } else {
      internal::expect_number(inputs, i, inputs.op());
    }
  }
  if (op.kind == Kind::prelu) {
    internal::expect_broadcast_to(inputs, 1, a, inputs.op());
    return {a};
  }
  return {internal::possible(
      TensorType(is_comparison(op.kind) ? ElementType::boolean : a.type, broadcast_dims(a, b, inputs.op())))};
}

Work work(const Binary&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs, 1); }

std::vector<Array> reference(const Binary& op, const Arrays& inputs) {
  const Array &a = inputs[0], &b = inputs[1];
  const Shape shape = broadcast_shape(a.shape(), b.shape(), inputs.op());
  if (op.kind == Kind::pow) return {powers(a, b, shape)};
  Array y(is_comparison(op.kind) ? ElementType::boolean : a.type(), shape);
  visit_element_type(a.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Kind kind = op.kind;
    if (is_comparison(kind)) {
      combine_all<T, T, bool>(a, b, y, [kind](T p, T q) {
        if constexpr (is_floating_v<T>)
          return compare(kind, wide(p), wide(q));
        else
          return compare(kind, p, q);
      });
    } else if constexpr (std::is_same_v<T, bool>) {
      combine_all<T, T, T>(a, b, y, [kind](bool p, bool q) { return logical(kind, p, q); });
    } else if constexpr (is_floating_v<T>) {
      combine_all<T, T, T>(a, b, y, [kind](T p, T q) { return narrow<T>(evaluate(kind, wide(p), wide(q))); });
    } else {
      combine_all<T, T, T>(a, b, y, [kind](T p, T q) { return evaluate_integer(kind, p, q); });
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
