// Convolutions of few channels from planes, written once over Vec. Sums of a tile stay in registers over the whole
// reduction. Channels last: pixels times vectors of channels, pixels broadcast from the ring. To planes: channels times
// vectors of pixels, weights broadcast. Both are bounded by multiply-adds.

#include "tessera/targets/cpu/kernels/planes/conv2d_planes.h"
#include "tessera/targets/cpu/kernels/planes/planes_simd.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kWidth = Vec::kWidth;
constexpr int kTilePixels = kWidth == 16 ? 14 : 6, kTileVectors = kConv2dPlanesVectors;
constexpr int kTileChannels = kWidth == 16 ? 8 : 4, kTilePixelVectors = kConv2dPlanesPixelVectors;

TSR_INLINE std::int64_t ring_row(const Conv2dPlanesJob& job, std::int64_t iy) {
  return (iy + job.top) % job.kernel_h * job.ic * job.phases * job.line;
}

// Row iy of every channel into its place.
void fill_row(const Conv2dPlanesJob& job, const float* image, std::int64_t iy, float* to) {
  for (std::int64_t c = 0; c < job.ic; ++c, to += job.phases * job.line) {
    if (iy < 0 || iy >= job.height) {
      for (std::int64_t i = 0; i < job.phases * job.line; i += kWidth) Vec::zero().store(to + i);
      continue;
    }
    const float* row = image + (c * job.height + iy) * job.width;
    const std::int64_t width = job.width;
    for (std::int64_t i = 0; i < job.line; i += kWidth) {
      const std::int64_t at = i * job.phases - job.left;
      const bool inside = at >= 0 && at + job.phases * kWidth <= width;
      if (job.phases == 1) {
        (inside ? Vec::load(row + at) : load_within(row, at, width)).store(to + i);
      } else {
        const EvenOdd x = inside ? deinterleave(Vec::load(row + at), Vec::load(row + at + kWidth))
                                 : deinterleave(load_within(row, at, width), load_within(row, at + kWidth, width));
        x.even.store(to + i);
        x.odd.store(to + job.line + i);
      }
    }
  }
}

void fill_ring(const Conv2dPlanesJob& job, Conv2dPlanesRing& ring, std::int64_t image, std::int64_t oy) {
  const std::int64_t first = oy * job.stride_h - job.top, end = first + job.kernel_h;
  if (ring.image != image) ring.image = image, ring.end = first;
  const float* x = job.x + image * job.ic * job.height * job.width;
  for (std::int64_t iy = ring.end > first ? ring.end : first; iy < end; ++iy)
    fill_row(job, x, iy, ring.lines + ring_row(job, iy));
  ring.end = end;
}

// A row of the output, and what it is made of.
struct Row {
  const float* lines;  // of the ring
  std::int64_t first;  // input row of window row 0
  float* y;
  Bounds bounds;
};

// Pixels [ox, ox + kPixels), channels of the panel's first kVectors vectors.
template <int kStride, int kPixels, int kVectors>
void tile_to_last(const Conv2dPlanesJob& job, const Row& row, std::int64_t panel, std::int64_t ox) {
  constexpr int kColumns = kTileVectors * kWidth;
  const std::int64_t channel = panel * kColumns;
  const float* w = job.weights + panel * job.kernel_h * job.ic * job.kernel_w * kColumns;
  Vec sums[kPixels][kVectors];
  unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
    const Vec bias = Vec::load(job.bias + channel + v.value * kWidth);
    unroll<kPixels>([&](auto m) TSR_INLINE_LAMBDA { sums[m.value][v.value] = bias; });
  });
  for (std::int64_t ky = 0; ky < job.kernel_h; ++ky) {
    const float* x = row.lines + ring_row(job, row.first + ky) + ox * kStride;
    for (std::int64_t c = 0; c < job.ic; ++c, x += job.line)
      for (std::int64_t kx = 0; kx < job.kernel_w; ++kx, w += kColumns) {
        Vec weights[kVectors];
        unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { weights[v.value] = Vec::load(w + v.value * kWidth); });
        unroll<kPixels>([&](auto m) TSR_INLINE_LAMBDA {
          const Vec pixel = Vec::all(x[kx + m.value * kStride]);
          unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
            sums[m.value][v.value] = fma(pixel, weights[v.value], sums[m.value][v.value]);
          });
        });
      }
  }
  const bool whole = channel + kVectors * kWidth <= job.oc;
  const Vec::Mask last = Vec::first(job.oc - channel - (kVectors - 1) * kWidth);
  unroll<kPixels>([&](auto m) TSR_INLINE_LAMBDA {
    float* y = row.y + (ox + m.value) * job.y_pixel + channel;
    unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
      const Vec result = clip(sums[m.value][v.value], row.bounds.low, row.bounds.high);
      if (v.value + 1 < kVectors || whole)
        result.store(y + v.value * kWidth);
      else
        result.store(y + v.value * kWidth, last);
    });
  });
}

// The last tile of a row overlaps the one before it, so that it is whole.
template <int kStride, int kVectors>
void panel_to_last(const Conv2dPlanesJob& job, const Row& row, std::int64_t panel) {
  const std::int64_t n = job.out_width;
  std::int64_t ox = 0;
  for (; ox + kTilePixels <= n; ox += kTilePixels) tile_to_last<kStride, kTilePixels, kVectors>(job, row, panel, ox);
  if (ox < n && n >= kTilePixels) {
    tile_to_last<kStride, kTilePixels, kVectors>(job, row, panel, n - kTilePixels);
    return;
  }
  for (; ox + 4 <= n; ox += 4) tile_to_last<kStride, 4, kVectors>(job, row, panel, ox);
  for (; ox < n; ++ox) tile_to_last<kStride, 1, kVectors>(job, row, panel, ox);
}

template <int kStride>
void row_to_last(const Conv2dPlanesJob& job, const Row& row) {
  static_assert(kTileVectors == 2);
  constexpr int kColumns = kTileVectors * kWidth;
  for (std::int64_t panel = 0; panel * kColumns < job.oc; ++panel)
    if (job.oc - panel * kColumns > kWidth)
      panel_to_last<kStride, 2>(job, row, panel);
    else
      panel_to_last<kStride, 1>(job, row, panel);
}

// kVectors vectors of pixels from ox on, of the channels of a panel.
template <int kStride, int kVectors>
void tile_to_planes(const Conv2dPlanesJob& job, const Row& row, std::int64_t panel, std::int64_t ox) {
  const std::int64_t channel = panel * kTileChannels, plane = job.out_height * job.out_width;
  const float* w = job.weights + panel * job.kernel_h * job.ic * job.kernel_w * kTileChannels;
  Vec sums[kTileChannels][kVectors];
  unroll<kTileChannels>([&](auto m) TSR_INLINE_LAMBDA {
    const Vec bias = Vec::all(job.bias[channel + m.value]);
    unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { sums[m.value][v.value] = bias; });
  });
  for (std::int64_t ky = 0; ky < job.kernel_h; ++ky) {
    const float* line = row.lines + ring_row(job, row.first + ky) + ox;
    for (std::int64_t c = 0; c < job.ic; ++c, line += kStride * job.line)
      for (std::int64_t kx = 0; kx < job.kernel_w; ++kx, w += kTileChannels) {
        const float* x = kStride == 1 ? line + kx : line + (kx & 1) * job.line + (kx >> 1);
        Vec pixels[kVectors];
        unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA { pixels[v.value] = Vec::load(x + v.value * kWidth); });
        unroll<kTileChannels>([&](auto m) TSR_INLINE_LAMBDA {
          const Vec weight = Vec::all(w[m.value]);
          unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
            sums[m.value][v.value] = fma(pixels[v.value], weight, sums[m.value][v.value]);
          });
        });
      }
  }
  const bool whole = ox + kVectors * kWidth <= job.out_width;
  const Vec::Mask last = Vec::first(job.out_width - ox - (kVectors - 1) * kWidth);
  float* y = row.y + channel * plane + ox;
  unroll<kTileChannels>([&](auto m) TSR_INLINE_LAMBDA {
    if (channel + m.value < job.oc) {
      unroll<kVectors>([&](auto v) TSR_INLINE_LAMBDA {
        const Vec result = clip(sums[m.value][v.value], row.bounds.low, row.bounds.high);
        if (v.value + 1 < kVectors || whole)
          result.store(y + v.value * kWidth);
        else
          result.store(y + v.value * kWidth, last);
      });
    }
    y += plane;
  });
}

// What a tile reads of the ring stays in the first cache while all weights pass by.
template <int kStride, int kVectors>
std::int64_t column_to_planes(const Conv2dPlanesJob& job, const Row& row, std::int64_t ox) {
  for (std::int64_t panel = 0; panel * kTileChannels < job.oc; ++panel)
    tile_to_planes<kStride, kVectors>(job, row, panel, ox);
  return ox + kVectors * kWidth;
}

template <int kStride>
void row_to_planes(const Conv2dPlanesJob& job, const Row& row) {
  static_assert(kTilePixelVectors == 3);
  for (std::int64_t ox = 0; ox < job.out_width;) {
    const std::int64_t vectors = (job.out_width - ox + kWidth - 1) / kWidth;
    if (vectors == 3 || vectors > 4)
      ox = column_to_planes<kStride, 3>(job, row, ox);
    else if (vectors > 1)
      ox = column_to_planes<kStride, 2>(job, row, ox);
    else
      ox = column_to_planes<kStride, 1>(job, row, ox);
  }
}

}  // namespace

void conv2d_planes_to_last(const Conv2dPlanesJob& job, Conv2dPlanesRing& ring, std::int64_t image, std::int64_t begin,
                           std::int64_t end) {
  for (std::int64_t oy = begin; oy < end; ++oy) {
    fill_ring(job, ring, image, oy);
    const std::int64_t to = job.y_ring > 0 ? oy % job.y_ring : image * job.out_height + oy;
    const Row row{ring.lines, oy * job.stride_h - job.top, job.y + to * job.out_width * job.y_pixel,
                  bounds_of(job.epilogue, job.epilogue.clips)};
    job.stride_w == 1 ? row_to_last<1>(job, row) : row_to_last<2>(job, row);
    if (job.epilogue.clips) continue;
    if (job.y_pixel == job.oc)
      finish_span(job.epilogue, nullptr, row.y, job.out_width * job.oc);
    else
      for (std::int64_t ox = 0; ox < job.out_width; ++ox)
        finish_span(job.epilogue, nullptr, row.y + ox * job.y_pixel, job.oc);
  }
}

void conv2d_planes_to_planes(const Conv2dPlanesJob& job, Conv2dPlanesRing& ring, std::int64_t image, std::int64_t begin,
                             std::int64_t end) {
  for (std::int64_t oy = begin; oy < end; ++oy) {
    fill_ring(job, ring, image, oy);
    const Row row{ring.lines, oy * job.stride_h - job.top,
                  job.y + (image * job.oc * job.out_height + oy) * job.out_width,
                  bounds_of(job.epilogue, job.epilogue.clips)};
    job.stride_w == 1 ? row_to_planes<1>(job, row) : row_to_planes<2>(job, row);
    for (std::int64_t c = 0; c < job.oc && !job.epilogue.clips; ++c)
      finish_span(job.epilogue, nullptr, row.y + c * job.out_height * job.out_width, job.out_width);
  }
}

}  // namespace tessera::cpu::TSR_ISA
