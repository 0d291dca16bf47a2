#include "tessera/targets/cpu/kernels/elementwise/unary_range.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

using Kind = Unary::Kind;

// alpha and beta as in Unary.
template <Kind kind>
TSR_INLINE Vec value_of(Vec x, Vec alpha, Vec beta) {
  const Vec zero = Vec::zero(), one = Vec::all(1.0f);
  if constexpr (kind == Kind::abs) return abs(x);
  if constexpr (kind == Kind::ceil) return ceil(x);
  if constexpr (kind == Kind::celu) return select(x < zero, alpha * expm1(x / alpha), x);
  if constexpr (kind == Kind::elu) return select(x < zero, alpha * expm1(x), x);
  if constexpr (kind == Kind::erf) return erf(x);
  if constexpr (kind == Kind::exp) return exp(x);
  if constexpr (kind == Kind::floor) return floor(x);
  if constexpr (kind == Kind::gelu) return gelu(x);
  if constexpr (kind == Kind::gelu_tanh) return gelu_tanh(x);
  if constexpr (kind == Kind::hard_sigmoid) return clip(fma(x, alpha, beta), zero, one);
  if constexpr (kind == Kind::hard_swish) return x * clip(fma(x, Vec::all(1.0f / 6.0f), Vec::all(0.5f)), zero, one);
  if constexpr (kind == Kind::leaky_relu) return select(x < zero, x * alpha, x);
  if constexpr (kind == Kind::log) return log(x);
  if constexpr (kind == Kind::mish) return mish(x);
  if constexpr (kind == Kind::neg) return x * Vec::all(-1.0f);
  if constexpr (kind == Kind::reciprocal) return one / x;
  if constexpr (kind == Kind::relu) return relu(x);
  if constexpr (kind == Kind::round) return round(x);
  if constexpr (kind == Kind::selu) return beta * select(x < zero, alpha * expm1(x), x);
  if constexpr (kind == Kind::shrink)
    return select(x < zero - alpha, x + beta, select(alpha < x, x - beta, select(is_nan(x), x, zero)));
  if constexpr (kind == Kind::sigmoid) return sigmoid(x);
  if constexpr (kind == Kind::sign) return select(x < zero, zero - one, select(zero < x, one, x));
  if constexpr (kind == Kind::silu) return gated(x, x * alpha);
  if constexpr (kind == Kind::softplus) return softplus(x);
  if constexpr (kind == Kind::softsign) return x / (one + abs(x));
  if constexpr (kind == Kind::sqrt) return sqrt(x);
  if constexpr (kind == Kind::tanh) return tanh(x);
  if constexpr (kind == Kind::thresholded_relu) return select(alpha < x, x, zero);
}

template <class T, class Function>
TSR_INLINE void for_range(const void* x, void* y, std::int64_t n, Function function) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  std::int64_t i = 0;
  for (; i + 2 * Vec::kWidth <= n; i += 2 * Vec::kWidth) {
    const Vec a = function(Vec::load(from + i)), b = function(Vec::load(from + i + Vec::kWidth));
    a.store(to + i);
    b.store(to + i + Vec::kWidth);
  }
  for (; i < n; i += Vec::kWidth) {
    const auto rest = Vec::first(n - i);
    function(Vec::load(from + i, rest)).store(to + i, rest);
  }
}

template <class T, Kind kind>
void run_unary(const void* x, void* y, std::int64_t n, float alpha, float beta) {
  const Vec a = Vec::all(alpha), b = Vec::all(beta);
  for_range<T>(x, y, n, [a, b](Vec v) __attribute__((always_inline)) { return value_of<kind>(v, a, b); });
}

template <class T>
void run_clip(const void* x, void* y, std::int64_t n, float low, float high) {
  const Vec a = Vec::all(low), b = Vec::all(high);
  for_range<T>(x, y, n, [a, b](Vec v) __attribute__((always_inline)) { return clip(v, a, b); });
}

template <class T>
UnaryRange range_of(Kind kind) {
#define TSR_KIND(k) \
  case Kind::k: return run_unary<T, Kind::k>
  switch (kind) {
    TSR_KIND(abs);
    TSR_KIND(ceil);
    TSR_KIND(celu);
    TSR_KIND(elu);
    TSR_KIND(erf);
    TSR_KIND(exp);
    TSR_KIND(floor);
    TSR_KIND(gelu);
    TSR_KIND(gelu_tanh);
    TSR_KIND(hard_sigmoid);
    TSR_KIND(hard_swish);
    TSR_KIND(leaky_relu);
    TSR_KIND(log);
    TSR_KIND(mish);
    TSR_KIND(neg);
    TSR_KIND(reciprocal);
    TSR_KIND(relu);
    TSR_KIND(round);
    TSR_KIND(selu);
    TSR_KIND(shrink);
    TSR_KIND(sigmoid);
    TSR_KIND(sign);
    TSR_KIND(silu);
    TSR_KIND(softplus);
    TSR_KIND(softsign);
    TSR_KIND(sqrt);
    TSR_KIND(tanh);
    TSR_KIND(thresholded_relu);
    default: return nullptr;
  }
#undef TSR_KIND
}

}  // namespace

UnaryRange unary_range(Unary::Kind kind, bool bfloat16) {
  return bfloat16 ? range_of<Bf16>(kind) : range_of<float>(kind);
}

UnaryRange clip_range(bool bfloat16) { return bfloat16 ? run_clip<Bf16> : run_clip<float>; }

}  // namespace tessera::cpu::TSR_ISA
