// The depthwise convolution over planes, written once over Vec. A tile is a few output rows and one vector of their
// pixels: each input row is loaded once for each column of the window and used by every output row that sees it.
// Rows above and below the plane are a row of zeros, pixels left and right of it are masked off. Bounded by loads, most
// of which lie across two cache lines, and in the end by memory. Square windows of 3, 5 and 7 with strides 1 and 2 are
// unrolled, their weights in registers as far as these go; others go tap by tap.

#pragma once

#include "tessera/backends/cpu/internal/activation_simd.h"
#include "tessera/backends/cpu/internal/depthwise_planes.h"
#include "tessera/backends/cpu/internal/planes_simd.h"
#include "tessera/backends/cpu/internal/unroll.h"

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
};

__attribute__((noinline)) Vec finish_slowly(const DenseEpilogue& epilogue, Vec sum, const float* residual,
                                            Vec::Mask mask) {
  sum = apply(epilogue.before, sum);
  if (residual != nullptr) sum = sum + Vec::load(residual, mask);
  return apply(epilogue.after, sum);
}

// One vector of row oy from column ox on.
template <bool kEdge>
TSR_INLINE void finish(const DepthwisePlanesJob& job, const Plane& plane, Vec sum, std::int64_t oy, std::int64_t ox) {
  const DenseEpilogue& epilogue = job.epilogue;
  const std::int64_t at = oy * job.out_width + ox;
  const Vec::Mask mask = Vec::first(kEdge ? job.out_width - ox : kWidth);
  if (epilogue.clips && plane.residual == nullptr)
    sum = clip(sum, Vec::all(epilogue.before_low), Vec::all(epilogue.before_high));
  else
    sum = finish_slowly(epilogue, sum, plane.residual == nullptr ? nullptr : plane.residual + at, mask);
  if constexpr (kEdge)
    sum.store(plane.y + at, mask);
  else
    sum.store(plane.y + at);
}

template <bool kEdge>
TSR_INLINE Vec load_row(const float* row, std::int64_t at, std::int64_t width) {
  if constexpr (kEdge)
    return load_within(row, at, width);
  else
    return Vec::load(row + at);
}

// use(Index<kx>, x): x is what column kx of the window sees, for output pixels whose windows begin at ix.
template <int kKernel, int kStride, bool kEdge, class Use>
TSR_INLINE void each_column(const float* row, std::int64_t ix, std::int64_t width, const Use& use) {
  if constexpr (kStride == 1) {
    unroll<kKernel>([&](auto kx) TSR_INLINE_LAMBDA { use(kx, load_row<kEdge>(row, ix + kx.value, width)); });
  } else {
    unroll<(kKernel + 1) / 2>([&](auto pair) TSR_INLINE_LAMBDA {
      constexpr int kFirst = 2 * decltype(pair)::value;
      const EvenOdd x =
          deinterleave(load_row<kEdge>(row, ix + kFirst, width), load_row<kEdge>(row, ix + kFirst + kWidth, width));
      use(Index<kFirst>{}, x.even);
      if constexpr (kFirst + 1 < kKernel) use(Index<kFirst + 1>{}, x.odd);
    });
  }
}

template <int kKernel, int kStride, int kRows, bool kEdge>
TSR_INLINE void planes_tile(const DepthwisePlanesJob& job, const Plane& plane, const float* const* rows,
                            const Vec* weights, std::int64_t oy, std::int64_t ox) {
  const std::int64_t ix = ox * kStride - job.left, width = job.width;
  Vec sums[kRows];
  unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA { sums[r.value] = Vec::all(plane.bias); });
  unroll<(kRows - 1) * kStride + kKernel>([&](auto row) TSR_INLINE_LAMBDA {
    each_column<kKernel, kStride, kEdge>(rows[row.value], ix, width, [&](auto kx, Vec x) TSR_INLINE_LAMBDA {
      unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA {
        constexpr int kKy = decltype(row)::value - decltype(r)::value * kStride;
        if constexpr (kKy >= 0 && kKy < kKernel)
          sums[r.value] = fma(x, weights[kKy * kKernel + kx.value], sums[r.value]);
      });
    });
  });
  unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA { finish<kEdge>(job, plane, sums[r.value], oy + r.value, ox); });
}

// Output rows [oy, oy + kRows).
template <int kKernel, int kStride, int kRows>
void planes_rows(const DepthwisePlanesJob& job, const Plane& plane, std::int64_t oy) {
  constexpr int kInputs = (kRows - 1) * kStride + kKernel;
  const float* rows[kInputs];
  for (int i = 0; i < kInputs; ++i) {
    const std::int64_t iy = oy * kStride - job.top + i;
    rows[i] = iy >= 0 && iy < job.height ? plane.x + iy * job.width : job.zeros;
  }
  Vec weights[kKernel * kKernel];
  unroll<kKernel * kKernel>([&](auto i) TSR_INLINE_LAMBDA { weights[i.value] = Vec::all(plane.weights[i.value]); });
  constexpr int kSpan = kStride == 1 ? kWidth + kKernel - 1 : 2 * kWidth + (kKernel - 1) / 2 * 2;  // elements loaded
  for (std::int64_t ox = 0; ox < job.out_width; ox += kWidth) {
    const std::int64_t ix = ox * kStride - job.left;
    if (ix >= 0 && ix + kSpan <= job.width && ox + kWidth <= job.out_width)
      planes_tile<kKernel, kStride, kRows, false>(job, plane, rows, weights, oy, ox);
    else
      planes_tile<kKernel, kStride, kRows, true>(job, plane, rows, weights, oy, ox);
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
  for (; oy < end; ++oy)
    for (std::int64_t ox = 0; ox < job.out_width; ox += kWidth) {
      Vec sum = Vec::all(plane.bias);
      for (std::int64_t ky = 0; ky < job.kernel_h; ++ky) {
        const std::int64_t iy = oy * job.stride_h - job.top + ky;
        if (iy < 0 || iy >= job.height) continue;
        for (std::int64_t kx = 0; kx < job.kernel_w; ++kx)
          each_column<1, kStride, true>(plane.x + iy * job.width, ox * kStride - job.left + kx, job.width,
                                        [&](auto, Vec x) TSR_INLINE_LAMBDA {
                                          sum = fma(x, Vec::all(plane.weights[ky * job.kernel_w + kx]), sum);
                                        });
      }
      finish<true>(job, plane, sum, oy, ox);
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
    const Plane plane{job.x + index * job.height * job.width, job.weights + channel * taps,
                      job.residual == nullptr ? nullptr : job.residual + index * out, job.y + index * out,
                      job.bias[channel]};
    run(job, plane, first, last);
  }
}

}  // namespace tessera::cpu::TSR_ISA
