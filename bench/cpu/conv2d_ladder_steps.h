// The steps of conv2d_ladder.cpp, once for each instruction set: included there within a namespace and a target, so
// there is no #pragma once and nothing is included from here. Each step computes rows [begin, end) of the result.

constexpr int kLanes = TSR_LADDER_LANES;             // floats of a register
constexpr int kPanel = TSR_LADDER_VECTORS * kLanes;  // output channels of a tile
using V = float __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

// 1: the definition, one output after the other. NCHW.
inline void plain_loops(const Data& d, float* y, int begin, int end) {
  for (int o = 0; o < kOc; ++o)
    for (int oy = begin; oy < end; ++oy)
      for (int ox = 0; ox < kOw; ++ox) {
        float sum = d.bias[o];
        for (int c = 0; c < kIc; ++c)
          for (int ky = 0; ky < kK; ++ky)
            for (int kx = 0; kx < kK; ++kx)
              sum += d.x_chw[(c * kH + oy + ky) * kW + ox + kx] * d.w_oihw[((o * kIc + c) * kK + ky) * kK + kx];
        y[(oy * kOw + ox) * kOc + o] = sum;
      }
}

// 2: channels last, so that the innermost loop reads both operands in the order in which they lie.
inline void channels_last(const Data& d, float* y, int begin, int end) {
  for (int oy = begin; oy < end; ++oy)
    for (int ox = 0; ox < kOw; ++ox)
      for (int o = 0; o < kOc; ++o) {
        float sum = d.bias[o];
        for (int ky = 0; ky < kK; ++ky)
          for (int kx = 0; kx < kK; ++kx) {
            const float* x = d.x_hwc + ((oy + ky) * kW + ox + kx) * kIc;
            const float* w = d.w_ohwi + ((o * kK + ky) * kK + kx) * kIc;
            for (int c = 0; c < kIc; ++c) sum += x[c] * w[c];
          }
        y[(oy * kOw + ox) * kOc + o] = sum;
      }
}

// 3: vectors over output channels: one input times a row of weights, no sum across a vector.
inline void vectors(const Data& d, float* y, int begin, int end) {
  constexpr int kVectors = kOc / kLanes;
  for (int oy = begin; oy < end; ++oy)
    for (int ox = 0; ox < kOw; ++ox) {
      V sums[kVectors];
      for (int v = 0; v < kVectors; ++v) sums[v] = *reinterpret_cast<const V*>(d.bias + v * kLanes);
      for (int ky = 0; ky < kK; ++ky)
        for (int kx = 0; kx < kK; ++kx)
          for (int c = 0; c < kIc; ++c) {
            const float x = d.x_hwc[((oy + ky) * kW + ox + kx) * kIc + c];
            const V* w = reinterpret_cast<const V*>(d.w_hwio + ((ky * kK + kx) * kIc + c) * kOc);
            for (int v = 0; v < kVectors; ++v) sums[v] += x * w[v];
          }
      for (int v = 0; v < kVectors; ++v) *reinterpret_cast<V*>(y + (oy * kOw + ox) * kOc + v * kLanes) = sums[v];
    }
}

// A tile of kTile pixels x kPanel output channels in registers: every weight that is loaded serves kTile pixels, every
// input kPanel channels. Rows [first_ky, last_ky) of the filter are added to what `sums` holds.
inline __attribute__((always_inline)) void tile(const float* x, const float* w, int w_stride, int first_ky, int last_ky,
                                                V (&sums)[kTile][TSR_LADDER_VECTORS]) {
  for (int ky = first_ky; ky < last_ky; ++ky)
    for (int kx = 0; kx < kK; ++kx) {
      const float* pixels = x + (ky * kW + kx) * kIc;
      const float* weights = w + (ky * kK + kx) * kIc * w_stride;
      for (int c = 0; c < kIc; ++c) {
        V row[TSR_LADDER_VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < TSR_LADDER_VECTORS; ++v)
          row[v] = *reinterpret_cast<const V*>(weights + c * w_stride + v * kLanes);
#pragma GCC unroll 8
        for (int p = 0; p < kTile; ++p)
#pragma GCC unroll 4
          for (int v = 0; v < TSR_LADDER_VECTORS; ++v) sums[p][v] += pixels[p * kIc + c] * row[v];
      }
    }
}

// From bias, or from what is there, to y.
inline __attribute__((always_inline)) void tile_into(const float* x, const float* w, int w_stride, int first_ky,
                                                     int last_ky, const float* bias, float* y, int y_stride) {
  V sums[kTile][TSR_LADDER_VECTORS];
#pragma GCC unroll 8
  for (int p = 0; p < kTile; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < TSR_LADDER_VECTORS; ++v)
      sums[p][v] = *reinterpret_cast<const V*>((bias != nullptr ? bias : y + p * y_stride) + v * kLanes);
  tile(x, w, w_stride, first_ky, last_ky, sums);
#pragma GCC unroll 8
  for (int p = 0; p < kTile; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < TSR_LADDER_VECTORS; ++v) *reinterpret_cast<V*>(y + p * y_stride + v * kLanes) = sums[p][v];
}

// 4: register tiles, weights as in step 3.
inline void register_tile(const Data& d, float* y, int begin, int end) {
  for (int oy = begin; oy < end; ++oy)
    for (int ox = 0; ox < kOw; ox += kTile)
      for (int o = 0; o < kOc; o += kPanel)
        tile_into(d.x_hwc + (oy * kW + ox) * kIc, d.w_hwio + o, kOc, 0, kK, d.bias + o, y + (oy * kOw + ox) * kOc + o,
                  kOc);
}

// 5: weights packed in panels of kPanel channels that are read from front to back, and one panel at a time for all
// pixels, so that it stays in the L2 cache.
inline void panels(const Data& d, float* y, int begin, int end) {
  for (int o = 0; o < kOc; o += kPanel)
    for (int oy = begin; oy < end; ++oy)
      for (int ox = 0; ox < kOw; ox += kTile)
        tile_into(d.x_hwc + (oy * kW + ox) * kIc, d.w_panels + o * kK * kK * kIc, kPanel, 0, kK, d.bias + o,
                  y + (oy * kOw + ox) * kOc + o, kOc);
}

// 6: blocks of the reduction: a row of the filter at a time, over two rows of the image. Weights (192 KiB for
// panels of 64) and inputs of a block fit the L2 cache together.
inline void blocks(const Data& d, float* y, int begin, int end) {
  for (int first = begin; first < end; first += 2)
    for (int o = 0; o < kOc; o += kPanel)
      for (int ky = 0; ky < kK; ++ky)
        for (int oy = first; oy < (first + 2 < end ? first + 2 : end); ++oy)
          for (int ox = 0; ox < kOw; ox += kTile)
            tile_into(d.x_hwc + (oy * kW + ox) * kIc, d.w_panels + o * kK * kK * kIc, kPanel, ky, ky + 1,
                      ky == 0 ? d.bias + o : nullptr, y + (oy * kOw + ox) * kOc + o, kOc);
}

// A pass of its own for the pool: reads all that the convolution has written.
inline void pool_rows(const float* from, float* y, int begin, int end) {
  for (int py = begin; py < end; ++py)
    for (int px = 0; px < kOw / 2; ++px)
      for (int o = 0; o < kOc; o += kLanes) {
        const float* at = from + (2 * py * kOw + 2 * px) * kOc + o;
        V most = *reinterpret_cast<const V*>(at);
        for (const float* next : {at + kOc, at + kOw * kOc, at + (kOw + 1) * kOc}) {
          const V value = *reinterpret_cast<const V*>(next);
          most = value > most ? value : most;
        }
        *reinterpret_cast<V*>(y + (py * (kOw / 2) + px) * kOc + o) = most;
      }
}

// 8: the pool as soon as two rows of kPanel channels are there, out of a buffer that stays in the cache.
inline void fused_pool(const Data& d, float* buffer, float* y, int begin, int end) {
  for (int py = begin; py < end; ++py)
    for (int o = 0; o < kOc; o += kPanel) {
      for (int ky = 0; ky < kK; ++ky)
        for (int row = 0; row < 2; ++row)
          for (int ox = 0; ox < kOw; ox += kTile)
            tile_into(d.x_hwc + ((2 * py + row) * kW + ox) * kIc, d.w_panels + o * kK * kK * kIc, kPanel, ky, ky + 1,
                      ky == 0 ? d.bias + o : nullptr, buffer + (row * kOw + ox) * kPanel, kPanel);
      for (int px = 0; px < kOw / 2; ++px)
        for (int v = 0; v < kPanel; v += kLanes) {
          const float* at = buffer + 2 * px * kPanel + v;
          V most = *reinterpret_cast<const V*>(at);
          for (const float* next : {at + kPanel, at + kOw * kPanel, at + (kOw + 1) * kPanel}) {
            const V value = *reinterpret_cast<const V*>(next);
            most = value > most ? value : most;
          }
          *reinterpret_cast<V*>(y + (py * (kOw / 2) + px) * kOc + o + v) = most;
        }
    }
}

inline Steps steps() {
  return {kPanel, plain_loops, channels_last, vectors, register_tile, panels, blocks, pool_rows, fused_pool};
}
