#include "tessera/targets/cpu/kernels/elementwise/binary_range.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

using Kind = Binary::Kind;

template <Kind kind>
TSR_INLINE Vec value_of(Vec a, Vec b) {
  if constexpr (kind == Kind::add) return a + b;
  if constexpr (kind == Kind::sub) return a - b;
  if constexpr (kind == Kind::mul) return a * b;
  if constexpr (kind == Kind::div) return a / b;
  if constexpr (kind == Kind::min) return select(is_nan(a), a, min_second(a, b));
  if constexpr (kind == Kind::max) return select(is_nan(a), a, max_second(a, b));
  if constexpr (kind == Kind::prelu) return select(a < Vec::zero(), a * b, a);
}

template <Kind kind>
TSR_INLINE Vec::Mask truth_of(Vec a, Vec b) {
  if constexpr (kind == Kind::equal) return a == b;
  if constexpr (kind == Kind::less) return a < b;
  if constexpr (kind == Kind::less_equal) return a <= b;
  if constexpr (kind == Kind::greater) return b < a;
  if constexpr (kind == Kind::greater_equal) return b <= a;
}

// visit(i, lanes) for whole vectors, then for the rest.
template <class Whole, class Rest>
TSR_INLINE void for_vectors(std::int64_t n, Whole whole, Rest rest) {
  std::int64_t i = 0;
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) whole(i);
  if (i < n) rest(i, Vec::first(n - i));
}

#define TSR_ALWAYS __attribute__((always_inline))

template <class T, Kind kind>
void run_binary(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n) {
  const T *x = static_cast<const T*>(a), *z = static_cast<const T*>(b);
  T* to = static_cast<T*>(y);
  const auto one = Vec::first(1);
  const auto of = [](Vec p, Vec q) TSR_ALWAYS { return value_of<kind>(p, q); };
  if (!a_one && !b_one) {
    for_vectors(
        n, [&](std::int64_t i) TSR_ALWAYS { of(Vec::load(x + i), Vec::load(z + i)).store(to + i); },
        [&](std::int64_t i, auto m) TSR_ALWAYS { of(Vec::load(x + i, m), Vec::load(z + i, m)).store(to + i, m); });
  } else if (b_one) {
    const Vec q = Vec::all(first_of(Vec::load(z, one)));
    for_vectors(
        n, [&](std::int64_t i) TSR_ALWAYS { of(Vec::load(x + i), q).store(to + i); },
        [&](std::int64_t i, auto m) TSR_ALWAYS { of(Vec::load(x + i, m), q).store(to + i, m); });
  } else {
    const Vec p = Vec::all(first_of(Vec::load(x, one)));
    for_vectors(
        n, [&](std::int64_t i) TSR_ALWAYS { of(p, Vec::load(z + i)).store(to + i); },
        [&](std::int64_t i, auto m) TSR_ALWAYS { of(p, Vec::load(z + i, m)).store(to + i, m); });
  }
}

template <class T, Kind kind>
void run_comparison(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n) {
  const T *x = static_cast<const T*>(a), *z = static_cast<const T*>(b);
  std::uint8_t* to = static_cast<std::uint8_t*>(y);
  const auto one = Vec::first(1);
  const Vec p = Vec::all(first_of(Vec::load(x, one))), q = Vec::all(first_of(Vec::load(z, one)));
  const auto put = [&](std::int64_t i, unsigned bits, int lanes) TSR_ALWAYS {
    for (int l = 0; l < lanes; ++l) to[i + l] = static_cast<std::uint8_t>(bits >> l & 1u);
  };
  for_vectors(
      n,
      [&](std::int64_t i) TSR_ALWAYS {
        put(i, bits_of(truth_of<kind>(a_one ? p : Vec::load(x + i), b_one ? q : Vec::load(z + i))), Vec::kWidth);
      },
      [&](std::int64_t i, auto m) TSR_ALWAYS {
        put(i, bits_of(truth_of<kind>(a_one ? p : Vec::load(x + i, m), b_one ? q : Vec::load(z + i, m))),
            static_cast<int>(n - i));
      });
}

template <class T, Power power>
void run_power(const void* a, bool, const void*, bool, void* y, std::int64_t n) {
  const T* x = static_cast<const T*>(a);
  T* to = static_cast<T*>(y);
  const auto of = [](Vec v) TSR_ALWAYS {
    if constexpr (power == Power::square) return v * v;
    if constexpr (power == Power::cube) return v * v * v;
    // pow() has no negative zero here, and takes -infinity to infinity.
    if constexpr (power == Power::root) {
      const Vec infinity = Vec::all(__builtin_inff());
      return select(v == Vec::zero(), Vec::zero(), select(abs(v) == infinity, infinity, sqrt(v)));
    }
  };
  for_vectors(
      n, [&](std::int64_t i) TSR_ALWAYS { of(Vec::load(x + i)).store(to + i); },
      [&](std::int64_t i, auto m) TSR_ALWAYS { of(Vec::load(x + i, m)).store(to + i, m); });
}

template <class T>
BinaryRange range_of(Kind kind) {
  switch (kind) {
    case Kind::add: return run_binary<T, Kind::add>;
    case Kind::sub: return run_binary<T, Kind::sub>;
    case Kind::mul: return run_binary<T, Kind::mul>;
    case Kind::div: return run_binary<T, Kind::div>;
    case Kind::min: return run_binary<T, Kind::min>;
    case Kind::max: return run_binary<T, Kind::max>;
    case Kind::prelu: return run_binary<T, Kind::prelu>;
    case Kind::equal: return run_comparison<T, Kind::equal>;
    case Kind::less: return run_comparison<T, Kind::less>;
    case Kind::less_equal: return run_comparison<T, Kind::less_equal>;
    case Kind::greater: return run_comparison<T, Kind::greater>;
    case Kind::greater_equal: return run_comparison<T, Kind::greater_equal>;
    default: return nullptr;
  }
}

template <class T>
BinaryRange power_of(Power power) {
  return power == Power::square ? run_power<T, Power::square>
         : power == Power::cube ? run_power<T, Power::cube>
                                : run_power<T, Power::root>;
}

}  // namespace

BinaryRange binary_range(Binary::Kind kind, bool bfloat16) {
  return bfloat16 ? range_of<Bf16>(kind) : range_of<float>(kind);
}

BinaryRange power_range(Power power, bool bfloat16) {
  return bfloat16 ? power_of<Bf16>(power) : power_of<float>(power);
}

}  // namespace tessera::cpu::TSR_ISA
