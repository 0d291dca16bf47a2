// The depthwise convolution over channels-last rows, written once over Vec. A tile is a few neighbouring pixels of one
// output row and one vector of channels: each input vector is loaded once for each row of the window and used by every
// pixel of the tile that sees it. Bounded by loads from the first and second cache; weights of one window row stay in
// registers for the tile. Windows 3, 5 and 7 wide with strides 1 and 2 are unrolled; others go pixel by pixel.

#include "tessera/targets/cpu/kernels/activation_simd.h"
#include "tessera/targets/cpu/kernels/depthwise/depthwise.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kWidth = Vec::kWidth;

// One output row: where its window begins in the input, and which rows of the window are inside.
template <class T>
struct DepthwiseRow {
  const T* image;
  const T* residual;  // of this row, or null
  T* y;
  std::int64_t first_y;  // input row of window row 0, may be outside
  std::int64_t low, high;
  std::int64_t ring;  // rows from this on begin again with 0

  TSR_INLINE std::int64_t at(std::int64_t k, const DepthwiseJob& job) const {
    const std::int64_t line = first_y + k * job.dilation_h;
    return line < ring ? line : line - ring;
  }
};

struct DepthwiseSpan {
  std::int64_t begin, end;  // channels
};

template <class T>
__attribute__((noinline)) void finish_slowly(const DepthwiseJob& job, const DepthwiseRow<T>& row, const Vec* sums,
                                             int count, std::int64_t at) {
  for (int i = 0; i < count; ++i, at += job.channels) {
    Vec sum = apply(job.before, sums[i]);
    if (row.residual != nullptr) sum = sum + Vec::load(row.residual + at);
    apply(job.after, sum).store(row.y + at);
  }
}

template <class T, int kKernel, int kStride, int kPixels, bool kBorder>
void depthwise_tile(const DepthwiseJob& job, const DepthwiseRow<T>& row, std::int64_t ox, DepthwiseSpan span) {
  constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
  const std::int64_t channels = job.channels, ix = ox * kStride - job.left;
  const Vec low = Vec::all(job.low), high = Vec::all(job.high);
  for (std::int64_t c = span.begin; c < span.end; c += kWidth) {
    if (c + kWidth > span.end) c = span.end - kWidth;  // some channels twice, with the same result
    Vec sums[kPixels];
    const Vec bias = Vec::load(job.bias + c);
    unroll<kPixels>([&](auto p) TSR_INLINE_LAMBDA { sums[p.value] = bias; });
    for (std::int64_t k = row.low; k < row.high; ++k) {
      const float* from = job.weights + k * kKernel * channels + c;
      Vec weights[kKernel];
      unroll<kKernel>([&](auto i) TSR_INLINE_LAMBDA {
        weights[i.value] = Vec::load(from);
        from += channels;
      });
      const T* x = row.image + c;
      std::int64_t at = (row.at(k, job) * job.width + ix) * channels;
      unroll<kColumns>([&](auto column) TSR_INLINE_LAMBDA {
        if (!kBorder || static_cast<std::uint64_t>(ix + column.value) < static_cast<std::uint64_t>(job.width)) {
          const Vec value = Vec::load(x + at);
          unroll<kKernel>([&](auto i) TSR_INLINE_LAMBDA {
            constexpr int kAway = decltype(column)::value - decltype(i)::value;
            if constexpr (kAway >= 0 && kAway % kStride == 0 && kAway / kStride < kPixels)
              sums[kAway / kStride] = fma(value, weights[i.value], sums[kAway / kStride]);
          });
        }
        at += channels;
      });
    }
    const std::int64_t to = ox * channels + c;
    if (job.clamps) {
      T* y = row.y + to;
      unroll<kPixels>([&](auto p) TSR_INLINE_LAMBDA {
        clip(sums[p.value], low, high).store(y);
        y += channels;
      });
    } else {
      Vec kept[kPixels];  // sums must have no address, or they would not be in registers
      unroll<kPixels>([&](auto p) TSR_INLINE_LAMBDA { kept[p.value] = sums[p.value]; });
      finish_slowly(job, row, kept, kPixels, to);
    }
  }
}

template <class T, int kKernel, int kStride, int kPixels>
TSR_INLINE void depthwise_tile(const DepthwiseJob& job, const DepthwiseRow<T>& row, std::int64_t ox,
                               DepthwiseSpan span) {
  const std::int64_t first = ox * kStride - job.left, last = first + (kPixels - 1) * kStride + kKernel - 1;
  if (first >= 0 && last < job.width)
    depthwise_tile<T, kKernel, kStride, kPixels, false>(job, row, ox, span);
  else
    depthwise_tile<T, kKernel, kStride, kPixels, true>(job, row, ox, span);
}

// Tiles at the end of the row overlap, so that they are never narrower than the row allows.
template <class T, int kKernel, int kStride>
void depthwise_row(const DepthwiseJob& job, const DepthwiseRow<T>& row, DepthwiseSpan span) {
  const std::int64_t n = job.out_width;
  std::int64_t ox = 0;
  for (; ox + 8 <= n; ox += 8) depthwise_tile<T, kKernel, kStride, 8>(job, row, ox, span);
  if (ox < n && n - ox > 4 && n >= 8) {
    depthwise_tile<T, kKernel, kStride, 8>(job, row, n - 8, span);
    return;
  }
  for (; ox + 4 <= n; ox += 4) depthwise_tile<T, kKernel, kStride, 4>(job, row, ox, span);
  if (ox < n && n >= 4) {
    depthwise_tile<T, kKernel, kStride, 4>(job, row, n - 4, span);
    return;
  }
  for (; ox < n; ++ox) depthwise_tile<T, kKernel, kStride, 1>(job, row, ox, span);
}

// Any window, stride, dilation and number of channels.
template <class T, int kVectors, bool kMasked>
TSR_INLINE void depthwise_pixel(const DepthwiseJob& job, const DepthwiseRow<T>& row, std::int64_t ox, std::int64_t low,
                                std::int64_t high, std::int64_t c, Vec::Mask mask) {
  const std::int64_t channels = job.channels, ix = ox * job.stride_w - job.left;
  const auto load = [&](const auto* at) TSR_INLINE_LAMBDA { return kMasked ? Vec::load(at, mask) : Vec::load(at); };
  Vec sums[kVectors];
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { sums[v.value] = load(job.bias + c + v.value * kWidth); });
  for (std::int64_t ky = row.low; ky < row.high; ++ky)
    for (std::int64_t kx = low; kx < high; ++kx) {
      const T* x = row.image + (row.at(ky, job) * job.width + ix + kx * job.dilation_w) * channels;
      const float* w = job.weights + (ky * job.kernel_w + kx) * channels;
      unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
        sums[v.value] = fma(load(x + c + v.value * kWidth), load(w + c + v.value * kWidth), sums[v.value]);
      });
    }
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
    const std::int64_t at = ox * channels + c + v.value * kWidth;
    Vec sum = apply(job.before, sums[v.value]);
    if (row.residual != nullptr) sum = sum + load(row.residual + at);
    sum = apply(job.after, sum);
    if (kMasked)
      sum.store(row.y + at, mask);
    else
      sum.store(row.y + at);
  });
}

template <class T>
void depthwise_row_slowly(const DepthwiseJob& job, const DepthwiseRow<T>& row, DepthwiseSpan span) {
  const auto taps_to = [&](std::int64_t distance) {  // the first tap at least so far from the first one
    return (distance + job.dilation_w - 1) / job.dilation_w;
  };
  for (std::int64_t ox = 0; ox < job.out_width; ++ox) {
    const std::int64_t ix = ox * job.stride_w - job.left;
    const std::int64_t low = ix >= 0 ? 0 : taps_to(-ix);
    std::int64_t high = ix >= job.width ? 0 : taps_to(job.width - ix);
    if (high > job.kernel_w) high = job.kernel_w;
    std::int64_t c = span.begin;
    for (; c + 4 * kWidth <= span.end; c += 4 * kWidth)
      depthwise_pixel<T, 4, false>(job, row, ox, low, high, c, Vec::first(kWidth));
    for (; c < span.end; c += kWidth) depthwise_pixel<T, 1, true>(job, row, ox, low, high, c, Vec::first(span.end - c));
  }
}

template <class T>
auto depthwise_row_kernel(const DepthwiseJob& job) {
  using Kernel = void (*)(const DepthwiseJob&, const DepthwiseRow<T>&, DepthwiseSpan);
  const std::int64_t kernel = job.kernel_w, stride = job.stride_w;
  // Without vector registers to unroll for, the tiles only take long to compile.
  if constexpr (kWidth >= 8) {
    if (job.channels >= kWidth && job.dilation_w == 1) {
      if (kernel == 3 && stride == 1) return static_cast<Kernel>(depthwise_row<T, 3, 1>);
      if (kernel == 3 && stride == 2) return static_cast<Kernel>(depthwise_row<T, 3, 2>);
      if (kernel == 5 && stride == 1) return static_cast<Kernel>(depthwise_row<T, 5, 1>);
      if (kernel == 5 && stride == 2) return static_cast<Kernel>(depthwise_row<T, 5, 2>);
      if (kernel == 7 && stride == 1) return static_cast<Kernel>(depthwise_row<T, 7, 1>);
    }
  }
  (void)kernel, (void)stride;
  return static_cast<Kernel>(depthwise_row_slowly<T>);
}

template <class T>
void depthwise_rows(const DepthwiseJob& job, std::int64_t begin, std::int64_t end) {
  const auto kernel = depthwise_row_kernel<T>(job);
  const std::int64_t rows = job.batch * job.out_height, per_row = job.out_width * job.channels;
  for (std::int64_t u = begin; u < end; ++u) {
    const std::int64_t chunk = u / rows, r = u % rows, n = r / job.out_height, oy = r % job.out_height;
    DepthwiseRow<T> row;
    row.image = static_cast<const T*>(job.x);
    if (job.x_ring == 0) row.image += n * job.height * job.width * job.channels;
    row.residual = job.residual == nullptr ? nullptr : static_cast<const T*>(job.residual) + r * per_row;
    row.y = static_cast<T*>(job.y) + (job.y_begin < 0 ? r : oy - job.y_begin) * per_row;
    row.first_y = oy * job.stride_h - job.top;
    row.low = row.first_y >= 0 ? 0 : (-row.first_y + job.dilation_h - 1) / job.dilation_h;
    const std::int64_t room = job.height - row.first_y;
    row.high = room <= 0 ? 0 : (room + job.dilation_h - 1) / job.dilation_h;
    if (row.high > job.kernel_h) row.high = job.kernel_h;
    row.ring = INT64_MAX;
    if (job.x_ring > 0) {
      // Rows that the window sees, counted from a multiple of the ring on.
      const std::int64_t first = row.first_y + row.low * job.dilation_h;
      row.first_y -= first / job.x_ring * job.x_ring;
      row.ring = job.x_ring;
    }
    kernel(job, row, {chunk * job.chunk, chunk + 1 == job.chunks ? job.channels : (chunk + 1) * job.chunk});
  }
}

}  // namespace

void depthwise(const DepthwiseJob& job, std::int64_t begin, std::int64_t end) {
  if (job.bf16)
    depthwise_rows<Bf16>(job, begin, end);
  else
    depthwise_rows<float>(job, begin, end);
}

}  // namespace tessera::cpu::TSR_ISA
