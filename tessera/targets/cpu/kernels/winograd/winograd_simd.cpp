// Winograd's transforms, once for every instruction set (see simd.h). Each runs over columns, then over rows of a tile
// for one vector of channels at a time; the tile in between lies in the first cache.
//
// Points of interpolation: 0, 1, -1 for m = 2; 0, +-3/4, +-3/2 for m = 4; 0, +-1/2, +-1, +-2 for m = 6, and infinity.
// Weights carry all divisions. With points +-a the rows of a transform are the sum and the difference of an even and
// an odd part, which is what keeps the counts low: 12 operations for 6 values, 24 for 8.
//
// Rounding: with |A|, |G|, |B| the transforms' matrices by magnitude, the error of a rounding anywhere grows at most to
// the largest element of |A| (|G| 1)(|B| 1), squared for two dimensions: 64, 751 and 4579 where the definition has 9.
// What is seen is far less (winograd.cpp, rounding()).

#include "tessera/targets/cpu/kernels/activation_simd.h"
#include "tessera/targets/cpu/kernels/winograd/winograd.h"
#include "tessera/targets/cpu/kernels/winograd/winograd_planes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tessera::cpu::TSR_ISA {
namespace {

TSR_INLINE Vec times(float a, Vec b) { return Vec::all(a) * b; }
TSR_INLINE Vec plus(Vec a, float b, Vec c) { return fma(Vec::all(b), c, a); }  // a + b * c

template <int M>
struct Winograd;

template <>
struct Winograd<2> {
  static TSR_INLINE void input(const Vec* d, Vec* v) {
    v[0] = d[2] - d[0];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[3] - d[1];
  }
  static TSR_INLINE void output(const Vec* m, Vec* y) {
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
  }
  // Divided by the products of differences between points.
  static constexpr double kG[4][3] = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
};

template <>
struct Winograd<4> {
  static constexpr float kA = 0.75f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;

  static TSR_INLINE void pair(Vec even, Vec odd, float point, Vec* v) {
    v[0] = plus(even, point, odd);
    v[1] = plus(even, -point, odd);
  }
  static TSR_INLINE void input(const Vec* d, Vec* v) {
    v[0] = plus(plus(d[4], -(kA2 + kB2), d[2]), kA2 * kB2, d[0]);
    pair(plus(d[4], -kB2, d[2]), plus(d[3], -kB2, d[1]), kA, v + 1);
    pair(plus(d[4], -kA2, d[2]), plus(d[3], -kA2, d[1]), kB, v + 3);
    v[5] = plus(plus(d[5], -(kA2 + kB2), d[3]), kA2 * kB2, d[1]);
  }
  static TSR_INLINE void output(const Vec* m, Vec* y) {
    const Vec sa = m[1] + m[2], ta = m[1] - m[2], sb = m[3] + m[4], tb = m[3] - m[4];
    y[0] = m[0] + (sa + sb);
    y[1] = plus(times(kA, ta), kB, tb);
    y[2] = plus(times(kA2, sa), kB2, sb);
    y[3] = plus(plus(m[5], kA2 * kA, ta), kB2 * kB, tb);
  }
  // The product of a point's differences from all others.
  static constexpr double kN0 = kA2 * kB2, kNa = 2.0 * kA2 * (kA2 - kB2), kNb = 2.0 * kB2 * (kB2 - kA2);
  static constexpr double kG[6][3] = {{1 / kN0, 0, 0},
                                      {1 / kNa, kA / kNa, kA2 / kNa},
                                      {1 / kNa, -kA / kNa, kA2 / kNa},
                                      {1 / kNb, kB / kNb, kB2 / kNb},
                                      {1 / kNb, -kB / kNb, kB2 / kNb},
                                      {0, 0, 1}};
};

template <>
struct Winograd<6> {
  // Squares of the points 1/2, 1 and 2.
  static constexpr float kA2 = 0.25f, kB2 = 1, kC2 = 4;
  static constexpr float kE1 = kA2 + kB2 + kC2, kE2 = kA2 * kB2 + kA2 * kC2 + kB2 * kC2, kE3 = kA2 * kB2 * kC2;

  template <int First>
  static TSR_INLINE Vec part(const Vec* d, float p, float q) {  // of (x^2 - p)(x^2 - q)
    return plus(plus(d[First + 4], -(p + q), d[First + 2]), p * q, d[First]);
  }
  static TSR_INLINE void pair(const Vec* d, float point, float p, float q, Vec* v) {
    const Vec even = part<2>(d, p, q), odd = part<1>(d, p, q);
    v[0] = plus(even, point, odd);
    v[1] = plus(even, -point, odd);
  }
  static TSR_INLINE void input(const Vec* d, Vec* v) {
    v[0] = plus(plus(plus(d[6], -kE1, d[4]), kE2, d[2]), -kE3, d[0]);
    pair(d, 0.5f, kB2, kC2, v + 1);
    pair(d, 1.0f, kA2, kC2, v + 3);
    pair(d, 2.0f, kA2, kB2, v + 5);
    v[7] = plus(plus(plus(d[7], -kE1, d[5]), kE2, d[3]), -kE3, d[1]);
  }
  static TSR_INLINE void output(const Vec* m, Vec* y) {
    const Vec sa = m[1] + m[2], ta = m[1] - m[2], sb = m[3] + m[4], tb = m[3] - m[4], sc = m[5] + m[6],
              tc = m[5] - m[6];
    y[0] = (m[0] + sa) + (sb + sc);
    y[1] = plus(plus(tb, 0.5f, ta), 2, tc);
    y[2] = plus(plus(sb, 0.25f, sa), 4, sc);
    y[3] = plus(plus(tb, 0.125f, ta), 8, tc);
    y[4] = plus(plus(sb, 0.0625f, sa), 16, sc);
    y[5] = plus(plus(tb + m[7], 0.03125f, ta), 32, tc);
  }
  static constexpr double kN0 = -1.0, kNa = 2.0 * kA2 * (kA2 - kB2) * (kA2 - kC2),
                          kNb = 2.0 * kB2 * (kB2 - kA2) * (kB2 - kC2), kNc = 2.0 * kC2 * (kC2 - kA2) * (kC2 - kB2);
  static constexpr double kG[8][3] = {{1 / kN0, 0, 0},
                                      {1 / kNa, 0.5 / kNa, 0.25 / kNa},
                                      {1 / kNa, -0.5 / kNa, 0.25 / kNa},
                                      {1 / kNb, 1 / kNb, 1 / kNb},
                                      {1 / kNb, -1 / kNb, 1 / kNb},
                                      {1 / kNc, 2 / kNc, 4 / kNc},
                                      {1 / kNc, -2 / kNc, 4 / kNc},
                                      {0, 0, 1}};
};

// Where a tile lies.
struct TilePlace {
  std::ptrdiff_t image, row, column;  // of the tile
};
TSR_INLINE TilePlace place_of(std::ptrdiff_t tile, std::ptrdiff_t tiles_h, std::ptrdiff_t tiles_w) {
  const std::ptrdiff_t line = tile / tiles_w;
  return {line / tiles_h, line % tiles_h, tile % tiles_w};
}

template <int M>
void input_tiles(const WinogradInput& job, std::ptrdiff_t tile_begin, std::ptrdiff_t tile_end) {
  constexpr int T = M + 2;
  const std::ptrdiff_t channels = job.channels;
  for (std::ptrdiff_t tile = tile_begin; tile < tile_end; ++tile) {
    const TilePlace at = place_of(tile, job.tiles_h, job.tiles_w);
    const std::ptrdiff_t iy = at.row * M - job.top, ix = at.column * M - job.left;
    const float* pixels[T][T];
    const std::ptrdiff_t pixel = job.pixel;
    const float* image = job.x + at.image * job.height * job.width * pixel;
    if (iy >= 0 && iy + T <= job.height && ix >= 0 && ix + T <= job.width) {
      for (int i = 0; i < T; ++i)
        for (int j = 0; j < T; ++j) pixels[i][j] = image + ((iy + i) * job.width + ix + j) * pixel;
    } else {
      for (int i = 0; i < T; ++i)
        for (int j = 0; j < T; ++j) {
          const std::ptrdiff_t y = iy + i, x = ix + j;
          const bool inside = y >= 0 && y < job.height && x >= 0 && x < job.width;
          pixels[i][j] = inside ? image + (y * job.width + x) * pixel : job.zeros;
        }
    }
    float* v = job.v + (tile - job.first) * job.tile_stride;
    for (std::ptrdiff_t c = 0; c < channels; c += Vec::kWidth) {
      Vec half[T][T];
      const bool whole = c + Vec::kWidth <= channels;
      const Vec::Mask some = Vec::first(channels - c);
#pragma GCC unroll 1
      for (int j = 0; j < T; ++j) {
        Vec d[T], out[T];
        if (whole) {
#pragma GCC unroll 8
          for (int i = 0; i < T; ++i) d[i] = Vec::load(pixels[i][j] + c);
        } else {
#pragma GCC unroll 8
          for (int i = 0; i < T; ++i) d[i] = Vec::load(pixels[i][j] + c, some);
        }
        Winograd<M>::input(d, out);
#pragma GCC unroll 8
        for (int i = 0; i < T; ++i) half[i][j] = out[i];
      }
#pragma GCC unroll 1
      for (int i = 0; i < T; ++i) {
        Vec out[T];
        Winograd<M>::input(half[i], out);
#pragma GCC unroll 8
        for (int j = 0; j < T; ++j) out[j].store(v + (i * T + j) * job.place_stride + c);
      }
    }
  }
}

// As input_tiles(), of row-major values: over the rows of a tile first, as they come. Neighbouring tiles share lines,
// which stay in the first cache while all tiles pass by for a few channels.
template <int M>
void input_planes(const WinogradInput& job, std::ptrdiff_t tile_begin, std::ptrdiff_t tile_end) {
  constexpr int T = M + 2;
  const std::ptrdiff_t plane = job.height * job.width, share = (M * job.width + job.tiles_w - 1) / job.tiles_w;
  const auto part = [](std::ptrdiff_t first, std::ptrdiff_t extent, std::ptrdiff_t& begin, std::ptrdiff_t& end) {
    begin = first < 0 ? (-first < T ? -first : T) : 0;
    end = extent - first < T ? (extent - first > begin ? extent - first : begin) : T;
  };
  for (std::ptrdiff_t c = 0; c < job.channels; c += Vec::kWidth)
    for (std::ptrdiff_t tile = tile_begin; tile < tile_end; ++tile) {
      const TilePlace at = place_of(tile, job.tiles_h, job.tiles_w);
      const std::ptrdiff_t iy = at.row * M - job.top, ix = at.column * M - job.left;
      PlanesPart there;
      part(iy, job.height, there.row_begin, there.row_end);
      part(ix, job.width, there.column_begin, there.column_end);
      there.lanes = job.channels - c;
      const float* image = job.x + (at.image * job.channels + c) * plane;
      const float* from = image + iy * job.width + ix;
      // This tile's share of the rows that its row of tiles sees first.
      if (job.far && iy + 2 >= 0 && iy + T <= job.height)
        fetch_planes(image + Vec::kWidth * plane + (iy + 2) * job.width + at.column * share, plane,
                     there.lanes - Vec::kWidth, share);
      Vec half[T][T];
#pragma GCC unroll 1
      for (int i = 0; i < T; i += kRowsTogether) {
        Vec d[kRowsTogether][kRowElements];
        load_rows(from, plane, job.width, i, there, d);
#pragma GCC unroll 2
        for (int r = 0; r < kRowsTogether; ++r) Winograd<M>::input(d[r], half[i + r]);
      }
      float* v = job.v + (tile - job.first) * job.tile_stride + c;
#pragma GCC unroll 1
      for (int j = 0; j < T; ++j) {
        Vec d[T], out[T];
#pragma GCC unroll 8
        for (int i = 0; i < T; ++i) d[i] = half[i][j];
        Winograd<M>::input(d, out);
#pragma GCC unroll 8
        for (int i = 0; i < T; ++i) out[i].store(v + (i * T + j) * job.place_stride);
      }
    }
}

TSR_INLINE Vec larger(Vec a, Vec b) { return select(is_nan(a), a, max_second(a, b)); }  // NaN wins

// What of a tile's results exists.
struct TilePart {
  std::ptrdiff_t rows, columns;
};
template <int M>
TSR_INLINE TilePart part_of(const WinogradOutput& job, const TilePlace& at) {
  const std::ptrdiff_t rows = job.height - at.row * M, columns = job.width - at.column * M;
  return {rows < M ? rows : M, columns < M ? columns : M};
}

template <int M>
TSR_INLINE void activate(const DenseEpilogue& epilogue, const TilePart& part, Vec (&y)[M][M]) {
  if (epilogue.clips) {
    const Vec low = Vec::all(epilogue.before_low), high = Vec::all(epilogue.before_high);
#pragma GCC unroll 1
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < M; ++j) y[i][j] = clip(y[i][j], low, high);
  } else {
#pragma GCC unroll 1
    for (int i = 0; i < part.rows; ++i)
#pragma GCC unroll 1
      for (int j = 0; j < part.columns; ++j) y[i][j] = apply(epilogue.before, y[i][j]);
  }
}

// Largest of the 2x2 from row 2 i and column 2 j on.
template <int M>
TSR_INLINE Vec pooled(const Vec (&y)[M][M], int i, int j) {
  return larger(larger(larger(y[2 * i][2 * j], y[2 * i][2 * j + 1]), y[2 * i + 1][2 * j]), y[2 * i + 1][2 * j + 1]);
}

// One vector of channels of one tile, row-major.
template <int M>
TSR_INLINE void finish_planes(const WinogradOutput& job, const TilePlace& at, std::ptrdiff_t channel, Vec (&y)[M][M]) {
  const TilePart part = part_of<M>(job, at);
  activate<M>(*job.epilogue, part, y);
  const std::ptrdiff_t oy = at.row * M, ox = at.column * M, lanes = job.column_end - channel;
  const std::ptrdiff_t plane = job.height * job.width, image = at.image * job.channels + channel;
  const PlanesPart there{0, part.rows, 0, part.columns, lanes};
  Vec d[kRowsTogether][kRowElements];
  if (job.residual != nullptr) {
    const float* residual = job.residual + image * plane + oy * job.width + ox;
#pragma GCC unroll 1
    for (int i = 0; i < M; i += kRowsTogether) {
      load_rows(residual, plane, job.width, i, there, d);
#pragma GCC unroll 2
      for (int r = 0; r < kRowsTogether; ++r)
#pragma GCC unroll 1
        for (int j = 0; j < M; ++j) y[i + r][j] = apply(job.epilogue->after, y[i + r][j] + d[r][j]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRowsTogether; ++r)
#pragma GCC unroll 8
    for (int j = 0; j < kRowElements; ++j) d[r][j] = Vec::zero();
  if (job.pools) {
    constexpr int P = M / 2;
    const std::ptrdiff_t py = oy / 2, px = ox / 2, pool_plane = job.pool_height * job.pool_width;
    const std::ptrdiff_t left = job.pool_width - px;
    for (int i = 0; i < P && py + i < job.pool_height; ++i) {
      const PlanesPart row{i, i + 1, 0, left < P ? (left > 0 ? left : 0) : P, lanes};
#pragma GCC unroll 4
      for (int j = 0; j < P; ++j) d[0][j] = pooled<M>(y, i, j);
      store_rows(job.y + image * pool_plane + py * job.pool_width + px, pool_plane, job.pool_width, i, row, d);
    }
    return;
  }
  float* to = job.y + image * plane + oy * job.width + ox;
#pragma GCC unroll 1
  for (int i = 0; i < part.rows; i += kRowsTogether) {
#pragma GCC unroll 2
    for (int r = 0; r < kRowsTogether; ++r)
#pragma GCC unroll 8
      for (int j = 0; j < M; ++j) d[r][j] = y[i + r][j];
    store_rows(to, plane, job.width, i, there, d);
  }
}

// One vector of channels of one tile, channels last.
template <int M>
TSR_INLINE void finish_tile(const WinogradOutput& job, const TilePlace& at, std::ptrdiff_t channel, Vec (&y)[M][M]) {
  const DenseEpilogue& epilogue = *job.epilogue;
  const std::ptrdiff_t oy = at.row * M, ox = at.column * M;
  const TilePart part = part_of<M>(job, at);
  const std::ptrdiff_t rows = part.rows, columns = part.columns;
  const bool whole = channel + Vec::kWidth <= job.column_end;
  const Vec::Mask some = Vec::first(job.column_end - channel);
  activate<M>(epilogue, part, y);
  if (job.residual != nullptr) {
    const float* residual =
        job.residual + ((at.image * job.height + oy) * job.width + ox) * job.residual_pixel + channel;
#pragma GCC unroll 1
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 1
      for (int j = 0; j < columns; ++j) {
        const float* from = residual + (i * job.width + j) * job.residual_pixel;
        y[i][j] = apply(epilogue.after, y[i][j] + (whole ? Vec::load(from) : Vec::load(from, some)));
      }
  }
  if (job.pools) {
    constexpr int P = M / 2;
    const std::ptrdiff_t py = oy / 2, px = ox / 2;
    for (int i = 0; i < P && py + i < job.pool_height; ++i)
      for (int j = 0; j < P && px + j < job.pool_width; ++j) {
        const Vec best = pooled<M>(y, i, j);
        float* to = job.y + ((at.image * job.pool_height + py + i) * job.pool_width + px + j) * job.pixel + channel;
        if (whole)
          best.store(to);
        else
          best.store(to, some);
      }
    return;
  }
  float* to = job.y + ((at.image * job.height + oy) * job.width + ox) * job.pixel + channel;
  if (whole && rows == M && columns == M) {
#pragma GCC unroll 1
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < M; ++j) y[i][j].store(to + (i * job.width + j) * job.pixel);
    return;
  }
#pragma GCC unroll 1
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 1
    for (int j = 0; j < columns; ++j) {
      if (whole)
        y[i][j].store(to + (i * job.width + j) * job.pixel);
      else
        y[i][j].store(to + (i * job.width + j) * job.pixel, some);
    }
}

// Column by column of the products, then row by row: y, with its bias.
template <int M>
TSR_INLINE void output_vector(const WinogradOutput& job, std::ptrdiff_t tile, std::ptrdiff_t channel, Vec (&y)[M][M]) {
  constexpr int T = M + 2;
  const float* from = job.m + (tile - job.first) * job.tile_stride + channel - job.column_begin;
  Vec half[M][T];
#pragma GCC unroll 1
  for (int j = 0; j < T; ++j) {
    Vec m[T], out[M];
#pragma GCC unroll 8
    for (int i = 0; i < T; ++i) m[i] = Vec::load(from + (i * T + j) * job.place_stride);
    Winograd<M>::output(m, out);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) half[i][j] = out[i];
  }
  const Vec bias = job.bias == nullptr ? Vec::zero()
                   : channel + Vec::kWidth <= job.column_end
                       ? Vec::load(job.bias + channel)
                       : Vec::load(job.bias + channel, Vec::first(job.column_end - channel));
#pragma GCC unroll 1
  for (int i = 0; i < M; ++i) {
    Winograd<M>::output(half[i], y[i]);
#pragma GCC unroll 8
    for (int j = 0; j < M; ++j) y[i][j] = y[i][j] + bias;
  }
}

template <int M>
void output_tiles(const WinogradOutput& job, std::ptrdiff_t tile_begin, std::ptrdiff_t tile_end) {
  for (std::ptrdiff_t tile = tile_begin; tile < tile_end; ++tile) {
    const TilePlace at = place_of(tile, job.tiles_h, job.tiles_w);
    for (std::ptrdiff_t channel = job.column_begin; channel < job.column_end; channel += Vec::kWidth) {
      Vec y[M][M];
      output_vector<M>(job, tile, channel, y);
      finish_tile<M>(job, at, channel, y);
    }
  }
}

template <int M>
void output_planes(const WinogradOutput& job, std::ptrdiff_t tile_begin, std::ptrdiff_t tile_end) {
  const std::ptrdiff_t plane = job.height * job.width, share = (M * job.width + job.tiles_w - 1) / job.tiles_w;
  for (std::ptrdiff_t channel = job.column_begin; channel < job.column_end; channel += Vec::kWidth)
    for (std::ptrdiff_t tile = tile_begin; tile < tile_end; ++tile) {
      const TilePlace at = place_of(tile, job.tiles_h, job.tiles_w);
      if (job.far && !job.pools && (at.row + 1) * M <= job.height)
        fetch_planes(job.y + (at.image * job.channels + channel + Vec::kWidth) * plane + at.row * M * job.width +
                         at.column * share,
                     plane, job.column_end - channel - Vec::kWidth, share);
      Vec y[M][M];
      output_vector<M>(job, tile, channel, y);
      finish_planes<M>(job, at, channel, y);
    }
}

// A few columns at a time, as the compiler's own vectors: it cuts them to what the instruction set has.
constexpr int kWeightLanes = 8;
using WeightDoubles = double __attribute__((vector_size(kWeightLanes * 8)));
using WeightFloats = float __attribute__((vector_size(kWeightLanes * 4)));
using WeightBits = std::int32_t __attribute__((vector_size(kWeightLanes * 4)));

// G w G^T in double. Subnormal results become 0: multiplying by them would be slow.
template <int M>
void weight_panels(const WinogradWeights& job, std::ptrdiff_t panel_begin, std::ptrdiff_t panel_end) {
  constexpr int T = M + 2;
  constexpr auto& g = Winograd<M>::kG;
  const std::ptrdiff_t panels = (job.columns + job.panel_columns - 1) / job.panel_columns;
  const std::ptrdiff_t panel_elements = job.channels * job.panel_columns;
  for (std::ptrdiff_t panel = panel_begin; panel < panel_end; ++panel)
    for (std::ptrdiff_t c = 0; c < job.channels; ++c)
      for (std::ptrdiff_t first = 0; first < job.panel_columns; first += kWeightLanes) {
        WeightDoubles w[9] = {};
        const std::ptrdiff_t column = panel * job.panel_columns + first;
        const auto lanes = static_cast<int>(std::clamp<std::ptrdiff_t>(job.columns - column, 0, kWeightLanes));
        for (int lane = 0; lane < lanes; ++lane) {
          const float* from = job.w + ((column + lane) * job.channels + c) * 9;
          for (int k = 0; k < 9; ++k) w[k][lane] = from[k];
        }
        WeightDoubles half[T][3];
        for (int i = 0; i < T; ++i)
          for (int k = 0; k < 3; ++k) half[i][k] = g[i][0] * w[k] + g[i][1] * w[3 + k] + g[i][2] * w[6 + k];
        float* to = job.u + panel * panel_elements + c * job.panel_columns + first;
        for (int i = 0; i < T; ++i)
          for (int j = 0; j < T; ++j) {
            const auto u = __builtin_convertvector(g[j][0] * half[i][0] + g[j][1] * half[i][1] + g[j][2] * half[i][2],
                                                   WeightFloats);
            const auto bits = reinterpret_cast<WeightBits>(u);
            const WeightBits normal = bits & ((bits & 0x7f80'0000) != 0);
            std::memcpy(to + (i * T + j) * panels * panel_elements, &normal, sizeof normal);
          }
      }
}

template <int M>
constexpr WinogradFunctions kWinograd{
    {input_planes<M>, input_tiles<M>}, {output_planes<M>, output_tiles<M>}, weight_panels<M>};

}  // namespace

WinogradFunctions winograd(int m) {
  switch (m) {
    case 2: return kWinograd<2>;
    case 4: return kWinograd<4>;
    default: return kWinograd<6>;
  }
}

}  // namespace tessera::cpu::TSR_ISA
