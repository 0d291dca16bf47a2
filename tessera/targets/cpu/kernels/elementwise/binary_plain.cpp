// Every kind of Binary over every type it is defined for, in plain loops.

#include "tessera/targets/cpu/kernels/elementwise/binary_plain.h"
#include "tessera/core/element_type_of.h"
#include "tessera/core/error.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace tessera::cpu {
namespace {

using Kind = Binary::Kind;

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

template <class A, class B, class Y, class F>
void each(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n, F&& f) {
  const A* p = static_cast<const A*>(a);
  const B* q = static_cast<const B*>(b);
  Y* to = static_cast<Y*>(y);
  if (!a_one && !b_one)
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(p[i], q[i]);
  else if (b_one)
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(p[i], q[0]);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(p[0], q[i]);
}

template <Kind kind, class T>
bool compared(T x, T y) {
  const auto a = static_cast<Wide<T>>(x), b = static_cast<Wide<T>>(y);
  if constexpr (kind == Kind::equal) return a == b;
  if constexpr (kind == Kind::less) return a < b;
  if constexpr (kind == Kind::less_equal) return a <= b;
  if constexpr (kind == Kind::greater) return a > b;
  return a >= b;
}

// Sums, products and quotients of 16-bit floats in float, rounded again, are as if rounded once.
template <Kind kind, class T>
T of_floats(T x, T y) {
  const auto a = static_cast<Wide<T>>(x), b = static_cast<Wide<T>>(y);
  if constexpr (kind == Kind::add) return T(a + b);
  if constexpr (kind == Kind::sub) return T(a - b);
  if constexpr (kind == Kind::mul) return T(a * b);
  if constexpr (kind == Kind::div) return T(a / b);
  if constexpr (kind == Kind::min) return T(std::isnan(a) || a < b ? a : b);
  if constexpr (kind == Kind::max) return T(std::isnan(a) || a > b ? a : b);
  if constexpr (kind == Kind::fmod) return T(std::fmod(a, b));
  if constexpr (kind == Kind::prelu) return T(a < 0 ? a * b : a);
}

template <class T>
T remainder_of(T a, T b, bool sign_of_divisor) {
  check(b != 0, Code::invalid_argument, "Mod: an integer is divided by zero");
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  const T rest = static_cast<T>(a % b);
  return sign_of_divisor && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
}

template <Kind kind, class T>
T of_integers(T a, T b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  if constexpr (kind == Kind::add) return static_cast<T>(x + y);
  if constexpr (kind == Kind::sub) return static_cast<T>(x - y);
  if constexpr (kind == Kind::mul) return static_cast<T>(x * y);
  if constexpr (kind == Kind::div) {
    check(b != 0, Code::invalid_argument, "Div: an integer is divided by zero");
    return std::is_signed_v<T> && b == static_cast<T>(-1) ? static_cast<T>(0 - x) : static_cast<T>(a / b);
  }
  if constexpr (kind == Kind::min) return a < b ? a : b;
  if constexpr (kind == Kind::max) return a > b ? a : b;
  if constexpr (kind == Kind::mod) return remainder_of(a, b, true);
  if constexpr (kind == Kind::fmod) return remainder_of(a, b, false);
  if constexpr (kind == Kind::bit_and) return static_cast<T>(x & y);
  if constexpr (kind == Kind::bit_or) return static_cast<T>(x | y);
  if constexpr (kind == Kind::bit_xor) return static_cast<T>(x ^ y);
  if constexpr (kind == Kind::shift_left || kind == Kind::shift_right) {
    if (b >= static_cast<T>(std::numeric_limits<T>::digits)) return 0;
    return static_cast<T>(kind == Kind::shift_left ? x << b : x >> b);
  }
  if constexpr (kind == Kind::prelu) return a < 0 ? static_cast<T>(x * y) : a;
}

template <Kind kind>
bool of_truths(bool a, bool b) {
  return kind == Kind::logical_and ? a && b : kind == Kind::logical_or ? a || b : a != b;
}

template <class T>
constexpr bool works_on(Kind kind) {
  switch (kind) {
    case Kind::logical_and:
    case Kind::logical_or:
    case Kind::logical_xor: return std::is_same_v<T, bool>;
    case Kind::equal:
    case Kind::less:
    case Kind::less_equal:
    case Kind::greater:
    case Kind::greater_equal: return true;
    case Kind::mod:
    case Kind::bit_and:
    case Kind::bit_or:
    case Kind::bit_xor: return std::is_integral_v<T> && !std::is_same_v<T, bool>;
    case Kind::shift_left:
    case Kind::shift_right: return std::is_unsigned_v<T> && !std::is_same_v<T, bool>;
    case Kind::pow: return false;
    default: return !std::is_same_v<T, bool>;
  }
}

template <class T, Kind kind>
void run_kind(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n) {
  if constexpr (kind >= Kind::equal && kind <= Kind::greater_equal)
    each<T, T, bool>(a, a_one, b, b_one, y, n, compared<kind, T>);
  else if constexpr (std::is_same_v<T, bool>)
    each<T, T, T>(a, a_one, b, b_one, y, n, of_truths<kind>);
  else if constexpr (is_floating_v<T>)
    each<T, T, T>(a, a_one, b, b_one, y, n, of_floats<kind, T>);
  else
    each<T, T, T>(a, a_one, b, b_one, y, n, of_integers<kind, T>);
}

template <class T, Kind kind>
BinaryPlainRange range_for() {
  if constexpr (works_on<T>(kind))
    return run_kind<T, kind>;
  else
    return nullptr;
}

template <class T>
BinaryPlainRange range_of(Kind kind) {
#define TSR_KIND(k) \
  case Kind::k: return range_for<T, Kind::k>()
  switch (kind) {
    TSR_KIND(add);
    TSR_KIND(sub);
    TSR_KIND(mul);
    TSR_KIND(div);
    TSR_KIND(min);
    TSR_KIND(max);
    TSR_KIND(mod);
    TSR_KIND(fmod);
    TSR_KIND(logical_and);
    TSR_KIND(logical_or);
    TSR_KIND(logical_xor);
    TSR_KIND(bit_and);
    TSR_KIND(bit_or);
    TSR_KIND(bit_xor);
    TSR_KIND(shift_left);
    TSR_KIND(shift_right);
    TSR_KIND(equal);
    TSR_KIND(less);
    TSR_KIND(less_equal);
    TSR_KIND(greater);
    TSR_KIND(greater_equal);
    TSR_KIND(prelu);
    case Kind::pow: return nullptr;
  }
#undef TSR_KIND
  return nullptr;
}

// Powers in double; a float base with the exponents that models have, or of its own type.
template <class T, class E>
void run_power(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n) {
  each<T, E, T>(a, a_one, b, b_one, y, n, [](T base, E exponent) {
    return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  });
}

BinaryPlainRange power_range(ElementType base, ElementType exponent) {
  if (base == ElementType::float64 && exponent == base) return run_power<double, double>;
  if (base != ElementType::float32) return nullptr;
  switch (exponent) {
    case ElementType::float32: return run_power<float, float>;
    case ElementType::float64: return run_power<float, double>;
    case ElementType::int32: return run_power<float, std::int32_t>;
    case ElementType::int64: return run_power<float, std::int64_t>;
    default: return nullptr;
  }
}

}  // namespace

BinaryPlainRange binary_plain_range(Binary::Kind kind, ElementType a, ElementType b) {
  if (is_narrow(a)) return nullptr;
  if (kind == Kind::pow) return power_range(a, b);
  return visit_element_type(
      a, [kind](auto tag) -> BinaryPlainRange { return range_of<typename decltype(tag)::type>(kind); });
}

}  // namespace tessera::cpu
