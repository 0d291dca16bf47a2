// Softmax written once over Vec: three passes over a row or a block of columns that stays in the cache. The largest
// number is found without looking at NaN, which then reaches every result through the sum, as in the definition.

#include "tessera/targets/cpu/kernels/softmax/softmax.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kWidth = Vec::kWidth;

// Floats keep e^x in the result until the sum is known; shorter types would round twice, so it is computed again.
template <class T>
constexpr bool kKeepsExp = sizeof(T) == sizeof(float);

TSR_INLINE Vec lanewise_log(Vec x) {
  float lanes[kWidth];
  x.store(lanes);
  for (int i = 0; i < kWidth; ++i) lanes[i] = __builtin_logf(lanes[i]);
  return Vec::load(lanes);
}

TSR_INLINE float largest(Vec x) {
  float lanes[kWidth];
  x.store(lanes);
  float best = lanes[0];
  for (int i = 1; i < kWidth; ++i) best = lanes[i] > best ? lanes[i] : best;
  return best;
}

template <class T>
void softmax_row(const SoftmaxJob& job, const T* x, T* y) {
  const std::int64_t n = job.length, whole = n / kWidth * kWidth;
  const Vec::Mask rest = Vec::first(n - whole);
  const Vec lowest = Vec::all(-__builtin_inff());
  Vec best = lowest;
  for (std::int64_t i = 0; i < whole; i += kWidth) best = max_second(Vec::load(x + i), best);
  if (whole < n) best = max_second(select(rest, Vec::load(x + whole, rest), lowest), best);
  const Vec most = Vec::all(largest(best));

  Vec total = Vec::zero();
  for (std::int64_t i = 0; i < whole; i += kWidth) {
    const Vec e = exp(Vec::load(x + i) - most);
    total = total + e;
    if (kKeepsExp<T> && !job.log) e.store(y + i);
  }
  if (whole < n) {
    const Vec e = exp(Vec::load(x + whole, rest) - most);
    total = total + select(rest, e, Vec::zero());
    if (kKeepsExp<T> && !job.log) e.store(y + whole, rest);
  }
  const float all = sum(total);
  const Vec divisor = Vec::all(all), log_sum = Vec::all(job.log ? __builtin_logf(all) : 0.0f);

  const auto finished = [&](Vec value, Vec kept) __attribute__((always_inline)) {
    if (job.log) return (value - most) - log_sum;
    return (kKeepsExp<T> ? kept : exp(value - most)) / divisor;
  };
  for (std::int64_t i = 0; i < whole; i += kWidth)
    finished(Vec::load(x + i), kKeepsExp<T> && !job.log ? Vec::load(y + i) : Vec::zero()).store(y + i);
  if (whole < n)
    finished(Vec::load(x + whole, rest), kKeepsExp<T> && !job.log ? Vec::load(y + whole, rest) : Vec::zero())
        .store(y + whole, rest);
}

// One vector of neighbouring rows, each `inner` elements from one to the next of its elements.
template <class T>
void softmax_columns(const SoftmaxJob& job, const T* x, T* y, Vec::Mask mask) {
  const std::int64_t step = job.inner, end = job.length * step;
  Vec most = Vec::all(-__builtin_inff());
  for (std::int64_t i = 0; i < end; i += step) most = max_second(Vec::load(x + i, mask), most);
  Vec total = Vec::zero();
  for (std::int64_t i = 0; i < end; i += step) {
    const Vec e = exp(Vec::load(x + i, mask) - most);
    total = total + e;
    if (kKeepsExp<T> && !job.log) e.store(y + i, mask);
  }
  if (job.log) {
    const Vec log_sum = lanewise_log(total);
    for (std::int64_t i = 0; i < end; i += step) ((Vec::load(x + i, mask) - most) - log_sum).store(y + i, mask);
    return;
  }
  for (std::int64_t i = 0; i < end; i += step)
    ((kKeepsExp<T> ? Vec::load(y + i, mask) : exp(Vec::load(x + i, mask) - most)) / total).store(y + i, mask);
}

// The same where the columns fit a buffer: neighbours in a column are often a multiple of the cache's way apart, and
// would throw each other out between the passes.
constexpr std::int64_t kBuffered = 256;

template <class T>
void softmax_columns_buffered(const SoftmaxJob& job, const T* x, T* y, Vec::Mask mask) {
  alignas(64) float buffer[kBuffered * kWidth];
  const std::int64_t step = job.inner, n = job.length;
  Vec most = Vec::all(-__builtin_inff()), total = Vec::zero();
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec value = Vec::load(x + i * step, mask);
    value.store(buffer + i * kWidth);
    most = max_second(value, most);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec shifted = Vec::load(buffer + i * kWidth) - most, e = exp(shifted);
    total = total + e;
    (job.log ? shifted : e).store(buffer + i * kWidth);
  }
  const Vec log_sum = job.log ? lanewise_log(total) : Vec::zero();
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec value = Vec::load(buffer + i * kWidth);
    (job.log ? value - log_sum : value / total).store(y + i * step, mask);
  }
}

template <class T>
void softmax_units(const SoftmaxJob& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t u = begin; u < end; ++u) {
    const std::int64_t at = u / job.blocks * job.length * job.inner;
    const T* x = static_cast<const T*>(job.x) + at;
    T* y = static_cast<T*>(job.y) + at;
    if (job.inner == 1) {
      softmax_row(job, x, y);
      continue;
    }
    std::int64_t c = u % job.blocks * kSoftmaxBlock;
    const std::int64_t last = c + kSoftmaxBlock < job.inner ? c + kSoftmaxBlock : job.inner;
    for (; c < last; c += kWidth) {
      if (job.length <= kBuffered)
        softmax_columns_buffered(job, x + c, y + c, Vec::first(last - c));
      else
        softmax_columns(job, x + c, y + c, Vec::first(last - c));
    }
  }
}

}  // namespace

void softmax(const SoftmaxJob& job, std::int64_t begin, std::int64_t end) {
  if (job.bf16)
    softmax_units<Bf16>(job, begin, end);
  else
    softmax_units<float>(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
