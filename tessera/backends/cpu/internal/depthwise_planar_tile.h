// The depthwise convolution over planes, written once over Vec: vectors of neighbouring pixels. Bounded by one load for
// each product, from the first cache.

#pragma once

#include "tessera/backends/cpu/internal/activation_simd.h"
#include "tessera/backends/cpu/internal/depthwise_planar.h"
#include "tessera/backends/cpu/internal/planar_rows.h"
#include "tessera/backends/cpu/internal/unroll.h"

namespace tessera::cpu::TSR_ISA {
namespace {

// kVectors vectors of one row from pixel `ox` on; `rows` is where the copies for window row 0 begin.
template <int kVectors>
TSR_INLINE void planar_pixels(const DepthwisePlanarJob& planar, const float* rows, const float* weights, float bias,
                              std::int64_t ox, const float* residual, float* y) {
  constexpr int kWidth = Vec::kWidth;
  const DepthwiseJob& job = planar.job;
  const std::int64_t row_elements = planar.phases * planar.phase_pixels;
  Vec sums[kVectors];
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { sums[v.value] = Vec::all(bias); });
  for (std::int64_t ky = 0; ky < job.kernel_h; ++ky) {
    const float* row = rows + ky * job.dilation_h * row_elements + ox;
    for (std::int64_t kx = 0, at = 0; kx < job.kernel_w; ++kx, at += job.dilation_w) {
      const float* x = row;
      if (job.stride_w == 1)
        x += at;
      else
        x += at % job.stride_w * planar.phase_pixels + at / job.stride_w;
      const Vec w = Vec::all(*weights++);
      unroll<kVectors>(
          [&](auto v) TSR_INLINE_LAMBDA { sums[v.value] = fma(Vec::load(x + v.value * kWidth), w, sums[v.value]); });
    }
  }
  const Vec low = Vec::all(job.low), high = Vec::all(job.high);
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
    const std::int64_t at = ox + v.value * kWidth;
    const bool whole = at + kWidth <= job.out_width;
    const Vec::Mask lanes = Vec::first(job.out_width - at);
    Vec sum = sums[v.value];
    if (job.clamps) {
      sum = clip(sum, low, high);
    } else {
      sum = apply(job.before, sum);
      if (residual != nullptr) sum = sum + Vec::load(residual + at, lanes);
      sum = apply(job.after, sum);
    }
    if (whole)
      sum.store(y + at);
    else
      sum.store(y + at, lanes);
  });
}

// As many vectors at once as are left, so that each weight is loaded for several.
inline void planar_row(const DepthwisePlanarJob& planar, const float* rows, const float* weights, float bias,
                       const float* residual, float* y) {
  constexpr std::int64_t kWidth = Vec::kWidth;
  const std::int64_t width = planar.job.out_width;
  std::int64_t ox = 0;
  for (; ox + 3 * kWidth < width; ox += 4 * kWidth) planar_pixels<4>(planar, rows, weights, bias, ox, residual, y);
  if (ox + 2 * kWidth < width)
    planar_pixels<3>(planar, rows, weights, bias, ox, residual, y);
  else if (ox + kWidth < width)
    planar_pixels<2>(planar, rows, weights, bias, ox, residual, y);
  else if (ox < width)
    planar_pixels<1>(planar, rows, weights, bias, ox, residual, y);
}

// kRows rows of the result at once, one vector of each: an element of the copies is loaded once for all windows that
// see it in this column.
template <int kKernel, int kStride, int kRows>
TSR_INLINE void planar_block(const DepthwisePlanarJob& planar, const float* rows, const Vec (&w)[kKernel * kKernel],
                             float bias, const float* residual, float* y) {
  constexpr int kWidth = Vec::kWidth;
  const DepthwiseJob& job = planar.job;
  const std::int64_t row_elements = planar.phases * planar.phase_pixels, width = job.out_width;
  const Vec low = Vec::all(job.low), high = Vec::all(job.high);
  for (std::int64_t ox = 0; ox < width; ox += kWidth) {
    Vec sums[kRows];
    unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA { sums[r.value] = Vec::all(bias); });
    const float* row = rows + ox;
    unroll<(kRows - 1) * kStride + kKernel>([&](auto line) TSR_INLINE_LAMBDA {
      unroll<kKernel>([&](auto kx) TSR_INLINE_LAMBDA {
        const Vec x = Vec::load(row + kx.value % kStride * planar.phase_pixels + kx.value / kStride);
        unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA {
          constexpr int kLine = decltype(line)::value - decltype(r)::value * kStride;
          if constexpr (kLine >= 0 && kLine < kKernel)
            sums[r.value] = fma(x, w[kLine * kKernel + kx.value], sums[r.value]);
        });
      });
      row += row_elements;
    });
    const Vec::Mask lanes = Vec::first(width - ox);
    const bool whole = ox + kWidth <= width;
    unroll<kRows>([&](auto r) TSR_INLINE_LAMBDA {
      const std::int64_t at = r.value * width + ox;
      Vec sum = sums[r.value];
      if (job.clamps) {
        sum = clip(sum, low, high);
      } else {
        sum = apply(job.before, sum);
        if (residual != nullptr) sum = sum + Vec::load(residual + at, lanes);
        sum = apply(job.after, sum);
      }
      if (whole)
        sum.store(y + at);
      else
        sum.store(y + at, lanes);
    });
  }
}

using PlanarRows = void (*)(const DepthwisePlanarJob& planar, const float* rows, const float* weights, float bias,
                            std::int64_t count, const float* residual, float* y);

template <int kKernel, int kStride>
void planar_rows(const DepthwisePlanarJob& planar, const float* rows, const float* weights, float bias,
                 std::int64_t count, const float* residual, float* y) {
  constexpr int kRows = 4;
  const std::int64_t step = kStride * planar.phases * planar.phase_pixels, width = planar.job.out_width;
  Vec w[kKernel * kKernel];
  unroll<kKernel * kKernel>([&](auto i) TSR_INLINE_LAMBDA { w[i.value] = Vec::all(weights[i.value]); });
  std::int64_t r = 0;
  const auto more = [&](std::int64_t at) TSR_INLINE_LAMBDA { return residual == nullptr ? residual : residual + at; };
  for (; r + kRows <= count; r += kRows)
    planar_block<kKernel, kStride, kRows>(planar, rows + r * step, w, bias, more(r * width), y + r * width);
  for (; r < count; ++r)
    planar_block<kKernel, kStride, 1>(planar, rows + r * step, w, bias, more(r * width), y + r * width);
}

// Any window.
inline void planar_rows_slowly(const DepthwisePlanarJob& planar, const float* rows, const float* weights, float bias,
                               std::int64_t count, const float* residual, float* y) {
  const std::int64_t step = planar.job.stride_h * planar.phases * planar.phase_pixels, width = planar.job.out_width;
  for (std::int64_t r = 0; r < count; ++r)
    planar_row(planar, rows + r * step, weights, bias, residual == nullptr ? nullptr : residual + r * width,
               y + r * width);
}

inline PlanarRows planar_rows_for(const DepthwiseJob& job) {
  // Without vector registers to unroll for, the blocks only take long to compile.
  if constexpr (Vec::kWidth >= 8) {
    const std::int64_t k = job.kernel_w, s = job.stride_w;
    if (job.kernel_h == k && job.stride_h == s && job.dilation_h == 1 && job.dilation_w == 1) {
      if (k == 3 && s == 1) return planar_rows<3, 1>;
      if (k == 3 && s == 2) return planar_rows<3, 2>;
      if (k == 5 && s == 1) return planar_rows<5, 1>;
      if (k == 5 && s == 2) return planar_rows<5, 2>;
    }
  }
  return planar_rows_slowly;
}

}  // namespace

void depthwise_planar(const DepthwisePlanarJob& planar, std::int64_t begin, std::int64_t end) {
  const DepthwiseJob& job = planar.job;
  const std::int64_t taps = job.kernel_h * job.kernel_w, plane = job.height * job.width,
                     out_plane = job.out_height * job.out_width, row_elements = planar.phases * planar.phase_pixels;
  const PlanarRows run = planar_rows_for(job);
  alignas(64) float copies[kPlanarElements];
  fill_zeros(copies, kPlanarElements / Vec::kWidth * Vec::kWidth);  // what is beside the rows stays so
  for (std::int64_t u = begin; u < end; ++u) {
    const std::int64_t c = u % job.channels;
    const float* x = static_cast<const float*>(job.x) + u * plane;
    for (std::int64_t first = 0; first < job.out_height; first += planar.strip) {
      const std::int64_t left = job.out_height - first, rows = left < planar.strip ? left : planar.strip;
      const std::int64_t top = first * job.stride_h - job.top;
      const std::int64_t needed = (rows - 1) * job.stride_h + (job.kernel_h - 1) * job.dilation_h + 1;
      for (std::int64_t r = 0; r < needed; ++r) {
        float* to = copies + r * row_elements;
        if (top + r < 0 || top + r >= job.height) {
          fill_zeros(to, row_elements);
          continue;
        }
        const float* row = x + (top + r) * job.width;
        for (std::int64_t p = 0; p < planar.phases; ++p, to += planar.phase_pixels) {
          // Element j of this phase is row[p - left + j * stride].
          const std::int64_t start = p - job.left, low = start >= 0 ? 0 : (-start + job.stride_w - 1) / job.stride_w;
          std::int64_t high = start >= job.width ? 0 : (job.width - start + job.stride_w - 1) / job.stride_w;
          if (high > planar.phase_pixels) high = planar.phase_pixels;
          if (low < high) copy_strided(row + (start + low * job.stride_w), job.stride_w, to + low, high - low);
        }
      }
      const std::int64_t at = u * out_plane + first * job.out_width;
      run(planar, copies, job.weights + c * taps, job.bias[c], rows,
          job.residual == nullptr ? nullptr : static_cast<const float*>(job.residual) + at,
          static_cast<float*>(job.y) + at);
    }
  }
}

}  // namespace tessera::cpu::TSR_ISA
