// Maximum and average over windows of channels-last images, written once over Vec. One pixel at a time, up to four
// vectors of channels in registers: every input element is read once for each window that sees it, from the first
// cache but for the first time.

#include "tessera/targets/cpu/kernels/pool/pool.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

template <class T, bool kMax, int kVectors, bool kMasked>
TSR_INLINE void pool_pixel(const PoolJob& job, const PoolSpan& row, const PoolSpan& column, const T* image, T* y,
                           Vec count, std::int64_t c, Vec::Mask mask) {
  constexpr int kWidth = Vec::kWidth;
  Vec best[kVectors];
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { best[v.value] = Vec::all(kMax ? -__builtin_inff() : 0.0f); });
  const std::int64_t step = job.dilation_w * job.x_pixel;
  for (std::int64_t i = 0; i < row.count; ++i) {
    const T* x = image + ((row.first + i * job.dilation_h) * job.width + column.first) * job.x_pixel + c;
    for (std::int64_t j = 0; j < column.count; ++j, x += step)
      unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
        const T* at = x + v.value * kWidth;
        const Vec value = kMasked ? Vec::load(at, mask) : Vec::load(at);
        Vec& b = best[v.value];
        // The maximum keeps b where either is NaN; a NaN then wins over any number.
        if constexpr (kMax)
          b = select(is_nan(value), value, max_second(value, b));
        else
          b = b + value;
      });
  }
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
    const Vec result = kMax ? best[v.value] : best[v.value] / count;
    if (kMasked)
      result.store(y + c, mask);
    else
      result.store(y + c + v.value * kWidth);
  });
}

template <class T, bool kMax>
void pool_rows(const PoolJob& job, std::int64_t begin, std::int64_t end) {
  constexpr int kWidth = Vec::kWidth;
  for (std::int64_t r = begin; r < end; ++r) {
    const PoolSpan& row = job.rows[r % job.out_height];
    const T* image = static_cast<const T*>(job.x) + r / job.out_height * job.height * job.width * job.x_pixel;
    T* y = static_cast<T*>(job.y) + r * job.out_width * job.y_pixel;
    for (std::int64_t o = 0; o < job.out_width; ++o, y += job.y_pixel) {
      const PoolSpan& column = job.columns[o];
      const std::int64_t taps = job.count_padding ? row.padded * column.padded : row.count * column.count;
      const Vec count = Vec::all(taps > 0 ? static_cast<float>(taps) : 1.0f);  // nothing has the average 0
      std::int64_t c = 0;
      for (; c + 4 * kWidth <= job.channels; c += 4 * kWidth)
        pool_pixel<T, kMax, 4, false>(job, row, column, image, y, count, c, Vec::first(kWidth));
      for (; c + kWidth <= job.channels; c += kWidth)
        pool_pixel<T, kMax, 1, false>(job, row, column, image, y, count, c, Vec::first(kWidth));
      if (c < job.channels)
        pool_pixel<T, kMax, 1, true>(job, row, column, image, y, count, c, Vec::first(job.channels - c));
    }
  }
}

}  // namespace

void pool(const PoolJob& job, std::int64_t begin, std::int64_t end) {
  if (job.bf16)
    job.max ? pool_rows<Bf16, true>(job, begin, end) : pool_rows<Bf16, false>(job, begin, end);
  else
    job.max ? pool_rows<float, true>(job, begin, end) : pool_rows<float, false>(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
