// Linear and cubic interpolation, written once over Vec. Channels last: the taps of a pixel (4 or 16) are gathered once
// and then run over its channels. Otherwise element by element.

#include "tessera/targets/cpu/kernels/resize/resize.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

struct ResizePixel {
  static constexpr std::int64_t kMost = ResizeJob::kMostTaps * ResizeJob::kMostTaps;
  std::int64_t count = 0;
  std::int64_t at[kMost];
  float weight[kMost];
};

template <class T, int kVectors, bool kMasked>
TSR_INLINE void resize_channels(const ResizePixel& pixel, const T* image, T* y, std::int64_t c, Vec::Mask mask) {
  Vec sums[kVectors];
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { sums[v.value] = Vec::zero(); });
  for (std::int64_t t = 0; t < pixel.count; ++t) {
    const T* x = image + pixel.at[t] + c;
    const Vec weight = Vec::all(pixel.weight[t]);
    unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
      const T* at = x + v.value * Vec::kWidth;
      sums[v.value] = fma(kMasked ? Vec::load(at, mask) : Vec::load(at), weight, sums[v.value]);
    });
  }
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
    if (kMasked)
      sums[v.value].store(y + c, mask);
    else
      sums[v.value].store(y + c + v.value * Vec::kWidth);
  });
}

template <class T>
void resize_rows_last(const ResizeJob& job, std::int64_t begin, std::int64_t end) {
  constexpr int kWidth = Vec::kWidth;
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t oy = r % job.out_height;
    const T* image = static_cast<const T*>(job.x) + r / job.out_height * job.height * job.width * job.x_pixel;
    T* y = static_cast<T*>(job.y) + r * job.out_width * job.y_pixel;
    for (std::int64_t ox = 0; ox < job.out_width; ++ox, y += job.y_pixel) {
      ResizePixel pixel;
      for (std::int64_t i = job.rows.first[oy]; i < job.rows.first[oy + 1]; ++i)
        for (std::int64_t j = job.columns.first[ox]; j < job.columns.first[ox + 1]; ++j) {
          pixel.at[pixel.count] = (job.rows.at[i] * job.width + job.columns.at[j]) * job.x_pixel;
          pixel.weight[pixel.count++] = job.rows.weight[i] * job.columns.weight[j];
        }
      std::int64_t c = 0;
      for (; c + 4 * kWidth <= job.channels; c += 4 * kWidth)
        resize_channels<T, 4, false>(pixel, image, y, c, Vec::first(kWidth));
      for (; c + kWidth <= job.channels; c += kWidth)
        resize_channels<T, 1, false>(pixel, image, y, c, Vec::first(kWidth));
      if (c < job.channels) resize_channels<T, 1, true>(pixel, image, y, c, Vec::first(job.channels - c));
    }
  }
}

TSR_INLINE float resize_read(const float* at) { return *at; }
TSR_INLINE float resize_read(const Bf16* at) { return __builtin_bit_cast(float, std::uint32_t{*at} << 16); }
TSR_INLINE void resize_write(float* at, float x) { *at = x; }
TSR_INLINE void resize_write(Bf16* at, float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  *at = static_cast<Bf16>((x != x ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
void resize_rows_major(const ResizeJob& job, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t oy = r % job.out_height, low = job.rows.first[oy], high = job.rows.first[oy + 1];
    const T* plane = static_cast<const T*>(job.x) + r / job.out_height * job.height * job.width;
    T* y = static_cast<T*>(job.y) + r * job.out_width;
    for (std::int64_t ox = 0; ox < job.out_width; ++ox) {
      float sum = 0;
      for (std::int64_t i = low; i < high; ++i) {
        const T* row = plane + job.rows.at[i] * job.width;
        float across = 0;
        for (std::int64_t j = job.columns.first[ox]; j < job.columns.first[ox + 1]; ++j)
          across += resize_read(row + job.columns.at[j]) * job.columns.weight[j];
        sum += across * job.rows.weight[i];
      }
      resize_write(y + ox, sum);
    }
  }
}

}  // namespace

void resize(const ResizeJob& job, std::int64_t begin, std::int64_t end) {
  if (job.bf16)
    job.channels_last ? resize_rows_last<Bf16>(job, begin, end) : resize_rows_major<Bf16>(job, begin, end);
  else
    job.channels_last ? resize_rows_last<float>(job, begin, end) : resize_rows_major<float>(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
