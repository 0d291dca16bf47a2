#include "tessera/targets/cpu/kernels/normalization/normalization_range.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

// Elements that a float may sum up before double takes over.
constexpr std::int64_t kRun = 512;

template <class T, bool square>
double sum_of(const void* at, std::int64_t n, float center) {
  const T* x = static_cast<const T*>(at);
  const Vec c = Vec::all(center), zero = Vec::zero();
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    const std::int64_t end = begin + kRun < n ? begin + kRun : n;
    Vec a = zero, b = zero;
    std::int64_t i = begin;
    for (; i + 2 * Vec::kWidth <= end; i += 2 * Vec::kWidth) {
      const Vec p = Vec::load(x + i) - c, q = Vec::load(x + i + Vec::kWidth) - c;
      a = square ? fma(p, p, a) : a + p;
      b = square ? fma(q, q, b) : b + q;
    }
    for (; i < end; i += Vec::kWidth) {
      const auto m = Vec::first(end - i);
      const Vec p = select(m, Vec::load(x + i, m) - c, zero);
      a = square ? fma(p, p, a) : a + p;
    }
    total += static_cast<double>(sum(a + b));
  }
  return total;
}

// One vector of columns at a time: `lanes` of them.
template <class T, bool square>
void column_sums_of(const void* at, std::int64_t rows, std::int64_t stride, int columns, const float* centers,
                    double* sums) {
  const T* x = static_cast<const T*>(at);
  const Vec zero = Vec::zero();
  for (int first = 0; first < columns; first += Vec::kWidth) {
    const int lanes = columns - first < Vec::kWidth ? columns - first : Vec::kWidth;
    const auto m = Vec::first(lanes);
    const Vec c = Vec::load(centers + first, m);
    for (int l = 0; l < lanes; ++l) sums[first + l] = 0;
    for (std::int64_t begin = 0; begin < rows; begin += kRun / 4) {
      const std::int64_t end = begin + kRun / 4 < rows ? begin + kRun / 4 : rows;
      Vec a = zero;
      for (std::int64_t r = begin; r < end; ++r) {
        const T* row = x + r * stride + first;
        const Vec p = (lanes == Vec::kWidth ? Vec::load(row) : Vec::load(row, m)) - c;
        a = square ? fma(p, p, a) : a + p;
      }
      float part[Vec::kWidth];
      a.store(part);
      for (int l = 0; l < lanes; ++l) sums[first + l] += static_cast<double>(part[l]);
    }
  }
}

template <class T, class Function>
TSR_INLINE void for_each(const T* x, T* y, std::int64_t n, Function function) {
  std::int64_t i = 0;
  const auto all = Vec::first(Vec::kWidth);
  for (; i + Vec::kWidth <= n; i += Vec::kWidth) function(i, Vec::load(x + i), all).store(y + i);
  if (i < n) {
    const auto m = Vec::first(n - i);
    function(i, Vec::load(x + i, m), m).store(y + i, m);
  }
}

template <class T>
void affine(const void* x, void* y, std::int64_t n, float center, float factor, float shift) {
  const Vec c = Vec::all(center), f = Vec::all(factor), s = Vec::all(shift);
  for_each(static_cast<const T*>(x), static_cast<T*>(y), n,
           [&](std::int64_t, Vec v, auto) __attribute__((always_inline)) { return fma(v - c, f, s); });
}

template <class T>
void affine_each(const void* x, void* y, std::int64_t n, const float* centers, const float* factors,
                 const float* shifts) {
  for_each(static_cast<const T*>(x), static_cast<T*>(y), n,
           [&](std::int64_t i, Vec v, auto m) __attribute__((always_inline)) {
             return fma(v - Vec::load(centers + i, m), Vec::load(factors + i, m), Vec::load(shifts + i, m));
           });
}

template <class T>
void scaled(const void* x, void* y, std::int64_t n, float center, float rest, float factor, const void* scale,
            const void* bias) {
  const T *s = static_cast<const T*>(scale), *b = static_cast<const T*>(bias);
  const Vec c = Vec::all(center), left = Vec::all(rest), f = Vec::all(factor);
  for_each(static_cast<const T*>(x), static_cast<T*>(y), n,
           [&](std::int64_t i, Vec v, auto m) __attribute__((always_inline)) {
             const Vec product = (v - c - left) * f * Vec::load(s + i, m);
             return b == nullptr ? product : product + Vec::load(b + i, m);
           });
}

template <class T>
NormalizationFunctions functions() {
  return {sum_of<T, false>, sum_of<T, true>, column_sums_of<T, false>, column_sums_of<T, true>, affine<T>,
          affine_each<T>,   scaled<T>};
}

}  // namespace

NormalizationFunctions normalization_functions(bool bfloat16) {
  return bfloat16 ? functions<Bf16>() : functions<float>();
}

void lrn_range(const float* x, float* y, std::int64_t c, std::int64_t n, const LrnArgs& args) {
  const std::int64_t first = c - args.before < 0 ? 0 : c - args.before;
  const std::int64_t last = c + args.after < args.channels ? c + args.after : args.channels - 1;
  const Vec bias = Vec::all(args.bias), factor = Vec::all(args.factor), power = Vec::all(-args.beta);
  const bool three_quarters = args.beta == 0.75f;
  for_each(x + c * args.stride, y + c * args.stride, n,
           [&](std::int64_t i, Vec v, auto m) __attribute__((always_inline)) {
             Vec squares = Vec::zero();
             for (std::int64_t k = first; k <= last; ++k) {
               const Vec other = Vec::load(x + k * args.stride + i, m);
               squares = fma(other, other, squares);
             }
             const Vec base = fma(squares, factor, bias);
             if (!three_quarters) return v * exp(power * log(base));
             const Vec root = sqrt(base);
             return v / (root * sqrt(root));
           });
}

}  // namespace tessera::cpu::TSR_ISA
