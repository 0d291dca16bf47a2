// Reductions of [outer][length][inner], written once over vectors of doubles. Sums in double neither overflow where the
// definition does not nor lose digits over long axes; two conversions for each vector of floats still keep up with
// memory. inner == 1 runs along the row, anything else across columns.

#include "tessera/targets/cpu/kernels/reduce/reduce.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kLanes = Vec::kWidth / 2;
using Doubles = double __attribute__((vector_size(kLanes * 8)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Words = std::uint32_t __attribute__((vector_size(kLanes * 4)));
using Halves = std::uint16_t __attribute__((vector_size(kLanes * 2)));

TSR_INLINE Doubles widened(const float* at) {
  Floats v;
  __builtin_memcpy(&v, at, sizeof(v));
  return __builtin_convertvector(v, Doubles);
}
TSR_INLINE Doubles widened(const Bf16* at) {
  Halves v;
  __builtin_memcpy(&v, at, sizeof(v));
  const Words bits = __builtin_convertvector(v, Words) << 16;
  Floats f;
  __builtin_memcpy(&f, &bits, sizeof(f));
  return __builtin_convertvector(f, Doubles);
}
TSR_INLINE double wide(const float* at) { return static_cast<double>(*at); }
TSR_INLINE double wide(const Bf16* at) {
  return static_cast<double>(__builtin_bit_cast(float, std::uint32_t{*at} << 16));
}
TSR_INLINE void narrow(double x, float* to) { *to = static_cast<float>(x); }
TSR_INLINE void narrow(double x, Bf16* to) {
  // To odd first, so that the second rounding gives what one would.
  float f = static_cast<float>(x);
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, f);
  if (x != x) {
    *to = static_cast<Bf16>((bits | 0x400000) >> 16);
    return;
  }
  const double back = static_cast<double>(f);
  if (back != x) {
    if (__builtin_fabs(back) > __builtin_fabs(x)) --bits;
    bits |= 1;
  }
  *to = static_cast<Bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// One step of a reduction; the same for lanes and for a single number.
template <Reduction kKind, class V>
TSR_INLINE V fold(V so_far, V x) {
  if constexpr (kKind == Reduction::sum) return so_far + x;
  if constexpr (kKind == Reduction::sum_abs) return so_far + (x < 0 ? -x : x);
  if constexpr (kKind == Reduction::sum_square) return so_far + x * x;
  if constexpr (kKind == Reduction::product) return so_far * x;
  // A NaN wins over any number, and no number over a NaN.
  if constexpr (kKind == Reduction::max) return ((x > so_far) | (x != x)) ? x : so_far;
  if constexpr (kKind == Reduction::min) return ((x < so_far) | (x != x)) ? x : so_far;
}
template <Reduction kKind, class V>
TSR_INLINE V joined(V a, V b) {
  if constexpr (kKind == Reduction::product || kKind == Reduction::max || kKind == Reduction::min)
    return fold<kKind>(a, b);
  else
    return a + b;
}
template <Reduction kKind>
constexpr double start() {
  if (kKind == Reduction::product) return 1;
  if (kKind == Reduction::max) return -__builtin_inf();
  if (kKind == Reduction::min) return __builtin_inf();
  return 0;
}

template <class T>
TSR_INLINE void finish(const ReduceJob& job, double x, T* to) {
  switch (job.end) {
    case ReductionEnd::none: break;
    case ReductionEnd::divide: x /= job.divisor; break;
    case ReductionEnd::square_root: x = __builtin_sqrt(x); break;
    case ReductionEnd::log: x = __builtin_log(x); break;
  }
  narrow(x, to);
}

template <Reduction kKind, class T>
void reduce_row(const ReduceJob& job, const T* x, T* y) {
  constexpr int kAtOnce = 4;
  Doubles sums[kAtOnce];
  double rest = start<kKind>();
  unroll<kAtOnce>([&](auto i) TSR_INLINE_LAMBDA { sums[i.value] = Doubles{} + start<kKind>(); });
  for (std::int64_t part = 0; part < job.parts; ++part) {
    const T* from = x + (job.parts_at == nullptr ? 0 : job.parts_at[part]);
    std::int64_t k = 0;
    for (; k + kAtOnce * kLanes <= job.length; k += kAtOnce * kLanes)
      unroll<kAtOnce>([&](auto i) TSR_INLINE_LAMBDA {
        sums[i.value] = fold<kKind>(sums[i.value], widened(from + k + i.value * kLanes));
      });
    for (; k + kLanes <= job.length; k += kLanes) sums[0] = fold<kKind>(sums[0], widened(from + k));
    for (; k < job.length; ++k) rest = fold<kKind>(rest, wide(from + k));
  }
  Doubles both = joined<kKind>(joined<kKind>(sums[0], sums[1]), joined<kKind>(sums[2], sums[3]));
  for (int lane = 0; lane < kLanes; ++lane) rest = joined<kKind>(rest, static_cast<double>(both[lane]));
  finish(job, rest, y);
}

template <Reduction kKind, class T, int kVectors>
TSR_INLINE void reduce_columns(const ReduceJob& job, const T* x, T* y) {
  Doubles sums[kVectors];
  unroll<kVectors>([&](auto i) TSR_INLINE_LAMBDA { sums[i.value] = Doubles{} + start<kKind>(); });
  for (std::int64_t part = 0; part < job.parts; ++part) {
    const T* from = x + (job.parts_at == nullptr ? 0 : job.parts_at[part]);
    for (std::int64_t k = 0; k < job.length; ++k, from += job.inner)
      unroll<kVectors>([&](auto i) TSR_INLINE_LAMBDA {
        sums[i.value] = fold<kKind>(sums[i.value], widened(from + i.value * kLanes));
      });
  }
  unroll<kVectors>([&](auto i) TSR_INLINE_LAMBDA {
    for (int lane = 0; lane < kLanes; ++lane)
      finish(job, static_cast<double>(sums[i.value][lane]), y + i.value * kLanes + lane);
  });
}

template <Reduction kKind, class T>
void reduce_column(const ReduceJob& job, const T* x, T* y) {
  double sum = start<kKind>();
  for (std::int64_t part = 0; part < job.parts; ++part) {
    const T* from = x + (job.parts_at == nullptr ? 0 : job.parts_at[part]);
    for (std::int64_t k = 0; k < job.length; ++k, from += job.inner) sum = fold<kKind>(sum, wide(from));
  }
  finish(job, sum, y);
}

template <Reduction kKind, class T>
void reduce_units(const ReduceJob& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t u = begin; u < end; ++u) {
    const std::int64_t o = u / job.blocks, block = u % job.blocks;
    const T* x =
        static_cast<const T*>(job.x) + (job.outer_at == nullptr ? o * job.length * job.inner : job.outer_at[o]);
    T* y = static_cast<T*>(job.y) + o * job.inner;
    if (job.inner == 1) {
      reduce_row<kKind>(job, x, y);
      continue;
    }
    std::int64_t c = block * kReduceBlock, last = c + kReduceBlock < job.inner ? c + kReduceBlock : job.inner;
    for (; c + 8 * kLanes <= last; c += 8 * kLanes) reduce_columns<kKind, T, 8>(job, x + c, y + c);
    for (; c + kLanes <= last; c += kLanes) reduce_columns<kKind, T, 1>(job, x + c, y + c);
    for (; c < last; ++c) reduce_column<kKind>(job, x + c, y + c);
  }
}

template <class T>
void reduce_as(const ReduceJob& job, std::int64_t begin, std::int64_t end) {
  switch (job.kind) {
    case Reduction::sum: return reduce_units<Reduction::sum, T>(job, begin, end);
    case Reduction::sum_abs: return reduce_units<Reduction::sum_abs, T>(job, begin, end);
    case Reduction::sum_square: return reduce_units<Reduction::sum_square, T>(job, begin, end);
    case Reduction::product: return reduce_units<Reduction::product, T>(job, begin, end);
    case Reduction::max: return reduce_units<Reduction::max, T>(job, begin, end);
    case Reduction::min: return reduce_units<Reduction::min, T>(job, begin, end);
  }
}

}  // namespace

void reduce(const ReduceJob& job, std::int64_t begin, std::int64_t end) {
  if (job.bf16)
    reduce_as<Bf16>(job, begin, end);
  else
    reduce_as<float>(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
