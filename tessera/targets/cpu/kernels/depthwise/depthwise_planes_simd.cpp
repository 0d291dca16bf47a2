// The depthwise convolution over planes, written once over Vec. A tile is a few output rows and one vector of their
// pixels: each input row is loaded once for each column of the window and used by every output row that sees it.
// Rows above and below the plane are left out, pixels left and right of it masked off. Bounded by loads, most
// of which lie across two cache lines, and in the end by memory. Square windows of 3, 5 and 7 with strides 1 and 2 are
// unrolled, their weights in registers as far as these go; others go tap by tap.

#include "tessera/targets/cpu/kernels/depthwise/depthwise_planes.h"
#include "tessera/targets/cpu/kernels/planes/planes_simd.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kWidth = Vec::kWidth;

// A plane of the input, and its parts of the other operands.
struct Plane {
  const float* x;
  const float* weights;
  const float* residual;
  float* y;
  float bias;
  bool simple;  // bounds are all that is fused
};

// Which lanes of the loads of a tile lie in the row.
template <int kKernel, int kStride, bool kEdge>
struct Columns {
  static constexpr int kLoads = kStride == 1 ? kKernel : (kKernel + 1) / 2 * 2;
  Vec::Mask masks[kLoads];

  static constexpr int at(int load) { return kStride == 1 ? load : load / 2 * 2 + load % 2 * kWidth; }

  TSR_INLINE Columns(std::int64_t ix, std::int64_t width) {
    if constexpr (kEdge)
      unroll<kLoads>([&](auto i)
                         TSR_INLINE_LAMBDA { masks[i.value] = lanes(-ix - at(i.value), width - ix - at(i.value)); });
  }
  template <int kLoad>
  TSR_INLINE Vec load(const float* x) const {
    if constexpr (kEdge)
      return Vec::load(x + at(kLoad), masks[kLoad]);
    else
      return Vec::load(x + at(kLoad));
  }
  // use(Index<kx>, v): v is what column kx of the window sees, for output pixels whose windows begin at x.
  template <class Use>
  TSR_INLINE void each(const float* x, const Use& use) const {
    if constexpr (kStride == 1) {
      unroll<kKernel>([&](auto kx) TSR_INLINE_LAMBDA { use(kx, this->template load<decltype(kx)::value>(x)); });
    } else {
      unroll<(kKernel + 1) / 2>([&](auto pair) TSR_INLINE_LAMBDA {
        constexpr int kFirst = 2 * decltype(pair)::value;
        const EvenOdd v = deinterleave(this->template load<kFirst>(x), this->template load<kFirst + 1>(x));
        use(Index<kFirst>{}, v.even);
        if constexpr (kFirst + 1 < kKernel) use(Index<kFirst + 1>{}, v.odd);
      });
    }
  }
};

// Output rows from oy on: where their windows begin, and which of the input rows that they see are in the plane.
struct Rows {
  std::int64_t oy, first, low, high;
};

template <int kKernel, int kStride, int kRows, bool kEdge>
TSR_INLINE void planes_tile(const DepthwisePlanesJob& job, const Plane& plane, const Rows& rows, const Vec* weights,
                            Bounds bounds, std::int64_t ox) {
  const std::int64_t ix = ox * kStride - job.left;
  const Columns<kKernel, kStride, kEdge> columns(ix, job.width);
  const float* x = plane.x + rows.first * job.width + ix;
  Vec sums[kRows];
  unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA { sums[r.value] = Vec::all(plane.bias); });
  unroll<(kRows - 1) * kStride + kKernel>([&](auto row) TSR_INLINE_LAMBDA {
    if (row.value >= rows.low && row.value < rows.high)
      columns.each(x, [&](auto kx, Vec v) TSR_INLINE_LAMBDA {
        unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA {
          constexpr int kKy = decltype(row)::value - decltype(r)::value * kStride;
          if constexpr (kKy >= 0 && kKy < kKernel)
            sums[r.value] = fma(v, weights[kKy * kKernel + kx.value], sums[r.value]);
        });
      });
    x += job.width;
    TSR_FIXED(x);
  });
  float* y = plane.y + rows.oy * job.out_width + ox;
  const Vec::Mask last = Vec::first(job.out_width - ox);
  unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA {
    const Vec result = clip(sums[r.value], bounds.low, bounds.high);
    if constexpr (kEdge)
      result.store(y, last);
    else
      result.store(y);
    y += job.out_width;
    TSR_FIXED(y);
  });
}

// Output rows [oy, oy + kRows).
template <int kKernel, int kStride, int kRows>
void planes_rows(const DepthwisePlanesJob& job, const Plane& plane, std::int64_t oy) {
  const std::int64_t first = oy * kStride - job.top;
  const Rows rows{oy, first, -first, job.height - first};
  Vec weights[kKernel * kKernel];
  unroll<kKernel * kKernel>([&](auto i) TSR_INLINE_LAMBDA { weights[i.value] = Vec::all(plane.weights[i.value]); });
  const Bounds bounds = bounds_of(job.epilogue, plane.simple);
  constexpr int kSpan = kStride == 1 ? kWidth + kKernel - 1 : 2 * kWidth + (kKernel - 1) / 2 * 2;  // elements loaded
  for (std::int64_t ox = 0; ox < job.out_width; ox += kWidth) {
    const std::int64_t ix = ox * kStride - job.left;
    if (ix >= 0 && ix + kSpan <= job.width && ox + kWidth <= job.out_width)
      planes_tile<kKernel, kStride, kRows, false>(job, plane, rows, weights, bounds, ox);
    else
      planes_tile<kKernel, kStride, kRows, true>(job, plane, rows, weights, bounds, ox);
  }
}

template <int kKernel, int kStride>
void planes_square(const DepthwisePlanesJob& job, const Plane& plane, std::int64_t oy, std::int64_t end) {
  for (; oy + 4 <= end; oy += 4) planes_rows<kKernel, kStride, 4>(job, plane, oy);
  if (oy + 2 <= end) planes_rows<kKernel, kStride, 2>(job, plane, oy), oy += 2;
  if (oy < end) planes_rows<kKernel, kStride, 1>(job, plane, oy);
}

// Any window, and any stride from row to row.
template <int kStride>
void planes_any(const DepthwisePlanesJob& job, const Plane& plane, std::int64_t oy, std::int64_t end) {
  const Bounds bounds = bounds_of(job.epilogue, plane.simple);
  for (; oy < end; ++oy)
    for (std::int64_t ox = 0; ox < job.out_width; ox += kWidth) {
      Vec sum = Vec::all(plane.bias);
      for (std::int64_t ky = 0; ky < job.kernel_h; ++ky) {
        const std::int64_t iy = oy * job.stride_h - job.top + ky;
        if (iy < 0 || iy >= job.height) continue;
        for (std::int64_t kx = 0; kx < job.kernel_w; ++kx) {
          const std::int64_t ix = ox * kStride - job.left + kx;
          const Vec weight = Vec::all(plane.weights[ky * job.kernel_w + kx]);
          Columns<1, kStride, true>(ix, job.width)
              .each(plane.x + iy * job.width + ix, [&](auto, Vec v) TSR_INLINE_LAMBDA { sum = fma(v, weight, sum); });
        }
      }
      clip(sum, bounds.low, bounds.high).store(plane.y + oy * job.out_width + ox, Vec::first(job.out_width - ox));
    }
}

using PlaneFn = void (*)(const DepthwisePlanesJob& job, const Plane& plane, std::int64_t oy, std::int64_t end);

PlaneFn function_of(const DepthwisePlanesJob& job) {
  if (job.kernel_h == job.kernel_w && job.stride_h == job.stride_w) {
    const bool one = job.stride_w == 1;
    if (job.kernel_w == 3) return one ? planes_square<3, 1> : planes_square<3, 2>;
    if (job.kernel_w == 5) return one ? planes_square<5, 1> : planes_square<5, 2>;
    if (job.kernel_w == 7) return one ? planes_square<7, 1> : planes_square<7, 2>;
  }
  return job.stride_w == 1 ? planes_any<1> : planes_any<2>;
}

}  // namespace

void depthwise_planes(const DepthwisePlanesJob& job, std::int64_t begin, std::int64_t end) {
  const PlaneFn run = function_of(job);
  const std::int64_t taps = job.kernel_h * job.kernel_w, out = job.out_height * job.out_width;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t index = unit / job.chunks, channel = index % job.channels, first = unit % job.chunks * job.chunk;
    const std::int64_t last = first + job.chunk < job.out_height ? first + job.chunk : job.out_height;
    const Plane plane{job.x + index * job.height * job.width,
                      job.weights + channel * taps,
                      job.residual == nullptr ? nullptr : job.residual + index * out,
                      job.y + index * out,
                      job.bias[channel],
                      job.residual == nullptr && job.epilogue.clips};
    run(job, plane, first, last);
    if (!plane.simple) {
      const std::int64_t from = first * job.out_width, count = last * job.out_width - from;
      finish_span(job.epilogue, plane.residual == nullptr ? nullptr : plane.residual + from, plane.y + from, count);
    }
  }
}

}  // namespace tessera::cpu::TSR_ISA
