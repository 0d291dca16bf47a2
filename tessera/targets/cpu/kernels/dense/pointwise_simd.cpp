// The tiles of pointwise.h for one instruction set, written once (see simd.h). MR channels of NV vectors of pixels stay
// in registers: each input channel loads NV vectors of its plane and broadcasts MR weights. The first panel of channels
// copies what it reads of the planes into one piece for the others: planes are far apart, and neither the caches' sets
// nor their prefetchers like that.
//
// What bounds it: the multiply-adds. Of x, 128 bytes are read in 28 of them, of the weights 56; both may come from the
// second cache.

#include "tessera/targets/cpu/kernels/activation_simd.h"
#include "tessera/targets/cpu/kernels/dense/pointwise.h"

namespace tessera::cpu::TSR_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14, kVectors = 2, kFew = 6;
#elif defined(__AVX2__)
constexpr int kRows = 6, kVectors = 2, kFew = 2;
#else
constexpr int kRows = 4, kVectors = 2, kFew = 1;
#endif
constexpr std::ptrdiff_t kWidth = Vec::kWidth, kColumns = kVectors * kWidth;
static_assert(kRows <= kWidth);  // run_few()

TSR_INLINE std::ptrdiff_t first_channel(const PointwiseBlock& block, std::ptrdiff_t panel) {
  return panel * block.channels / block.panels;
}

// Sums in memory, [rows][kColumns]: any activation, any number of pixels.
__attribute__((noinline)) void finish(const PointwiseBlock& block, std::ptrdiff_t channel, std::ptrdiff_t rows,
                                      std::ptrdiff_t pixel, std::ptrdiff_t pixels, const float* sums) {
  for (std::ptrdiff_t m = 0; m < rows; ++m) {
    const std::ptrdiff_t at = (channel + m) * block.plane + pixel;
    const Vec bias = Vec::all(block.bias[channel + m]);
    for (std::ptrdiff_t p = 0; p < pixels; p += kWidth) {
      const Vec::Mask some = Vec::first(pixels - p);
      Vec v = apply(block.epilogue->before, Vec::load(sums + m * kColumns + p) + bias);
      if (block.residual) v = apply(block.epilogue->after, v + Vec::load(block.residual + at + p, some));
      v.store(block.y + at + p, some);
    }
  }
}

// Planes of the next block that a tile brings nearer: one in `steps` steps of its own, from `x` on.
struct Ahead {
  const float* x;
  std::ptrdiff_t steps;
};

// Channels [channel, channel + MR) of `pixels` pixels from `pixel` on, which NV vectors hold.
template <int MR, int NV, bool Copies>
void run_tile(const PointwiseBlock& block, std::ptrdiff_t channel, std::ptrdiff_t pixel, std::ptrdiff_t pixels,
              float* packed, const Ahead& ahead) {
  constexpr std::ptrdiff_t kAhead = 12;  // planes
  float* y = block.y + channel * block.plane + pixel;
#pragma GCC unroll 1
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) __builtin_prefetch(y + m * block.plane + v * kWidth, 1);

  Vec sums[MR][NV];
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sums[m][v] = Vec::zero();
  const float* w = block.weights + channel * block.depth;
  const float* x = block.x + pixel;
  const Vec::Mask last = Vec::first(pixels - (NV - 1) * kWidth);
  const float* next = ahead.x;
  std::ptrdiff_t steps = ahead.steps;
  for (std::ptrdiff_t k = 0; k < block.depth; ++k) {
    Vec values[NV];
    if constexpr (Copies) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        __builtin_prefetch(x + kAhead * block.plane + v * kWidth);
        values[v] = v + 1 < NV ? Vec::load(x + v * kWidth) : Vec::load(x + v * kWidth, last);
        values[v].store(packed + v * kWidth);
      }
      x += block.plane;
    } else {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) values[v] = Vec::load(packed + v * kWidth);
      if (--steps == 0) {
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) __builtin_prefetch(next + v * kWidth, 0, 2);
        next += block.plane;
        steps = ahead.steps;
      }
    }
    packed += NV * kWidth;
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) {
      const Vec weight = Vec::all(w[m]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sums[m][v] = fma(weight, values[v], sums[m][v]);
    }
    w += MR;
  }

  const DenseEpilogue& epilogue = *block.epilogue;
  if (!epilogue.clips || pixels < NV * kWidth) {
    float memory[MR * kColumns];
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) sums[m][v].store(memory + m * kColumns + v * kWidth);
    finish(block, channel, MR, pixel, pixels, memory);
    return;
  }
  const Vec low = Vec::all(epilogue.before_low), high = Vec::all(epilogue.before_high);
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m) {
    const Vec bias = Vec::all(block.bias[channel + m]);
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sums[m][v] = clip(sums[m][v] + bias, low, high);
  }
  if (block.residual != nullptr) {
    const Vec after_low = Vec::all(epilogue.after_low), after_high = Vec::all(epilogue.after_high);
    const float* residual = block.residual + channel * block.plane + pixel;
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v)
        sums[m][v] = clip(sums[m][v] + Vec::load(residual + m * block.plane + v * kWidth), after_low, after_high);
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sums[m][v].store(y + m * block.plane + v * kWidth);
}

// `Few` pixels with a panel's channels in a vector, `Panels` panels at a time so that sums do not wait for each other.
// Lanes after a panel's channels hold nothing of use. packed: [depth][Few].
template <int Few, int Panels>
void run_few(const PointwiseBlock& block, std::ptrdiff_t panel, std::ptrdiff_t pixel, const float* packed) {
  Vec sums[Panels][Few];
  const float* w[Panels];
  std::ptrdiff_t channel[Panels], rows[Panels];
#pragma GCC unroll 8
  for (int p = 0; p < Panels; ++p) {
    channel[p] = first_channel(block, panel + p);
    rows[p] = first_channel(block, panel + p + 1) - channel[p];
    w[p] = block.weights + channel[p] * block.depth;
#pragma GCC unroll 8
    for (int i = 0; i < Few; ++i) sums[p][i] = Vec::zero();
  }
  for (std::ptrdiff_t k = 0; k < block.depth; ++k, packed += Few) {
#pragma GCC unroll 8
    for (int p = 0; p < Panels; ++p) {
      const Vec weights = Vec::load(w[p]);
      w[p] += rows[p];
#pragma GCC unroll 8
      for (int i = 0; i < Few; ++i) sums[p][i] = fma(weights, Vec::all(packed[i]), sums[p][i]);
    }
  }
  for (int p = 0; p < Panels; ++p)
    for (int i = 0; i < Few; ++i) {
      const std::ptrdiff_t at = channel[p] * block.plane + pixel + i;
      float lanes[kWidth] = {};
      Vec v = apply(block.epilogue->before, sums[p][i] + Vec::load(block.bias + channel[p]));
      if (block.residual != nullptr) {
        for (std::ptrdiff_t m = 0; m < rows[p]; ++m) lanes[m] = block.residual[at + m * block.plane];
        v = apply(block.epilogue->after, v + Vec::load(lanes));
      }
      v.store(lanes);
      for (std::ptrdiff_t m = 0; m < rows[p]; ++m) block.y[at + m * block.plane] = lanes[m];
    }
}

template <int Few>
void run_few_panels(const PointwiseBlock& block, std::ptrdiff_t pixel, float* packed) {
  constexpr int kTogether = Few == 1 ? 6 : Few == 2 ? 4 : 2;
  const float* x = block.x + pixel;
  for (std::ptrdiff_t k = 0; k < block.depth; ++k, x += block.plane)
    for (int i = 0; i < Few; ++i) packed[k * Few + i] = x[i];
  std::ptrdiff_t panel = block.panel_begin;
  for (; panel + kTogether <= block.panel_end; panel += kTogether) run_few<Few, kTogether>(block, panel, pixel, packed);
  for (; panel < block.panel_end; ++panel) run_few<Few, 1>(block, panel, pixel, packed);
}

using TileFn = void (*)(const PointwiseBlock&, std::ptrdiff_t channel, std::ptrdiff_t pixel, std::ptrdiff_t pixels,
                        float* packed, const Ahead& ahead);
using FewFn = void (*)(const PointwiseBlock&, std::ptrdiff_t pixel, float* packed);

struct Tiles {
  TileFn at[2][kVectors][kRows];  // [copies][vectors - 1][channels - 1]
  FewFn few[kFew];                // [pixels - 1]

  template <int MR, int NV>
  constexpr void fill_rows() {
    at[0][NV - 1][MR - 1] = run_tile<MR, NV, false>;
    at[1][NV - 1][MR - 1] = run_tile<MR, NV, true>;
    if constexpr (MR > 1) fill_rows<MR - 1, NV>();
  }
  template <int NV>
  constexpr void fill() {
    fill_rows<kRows, NV>();
    if constexpr (NV > 1) fill<NV - 1>();
  }
  template <int Few>
  constexpr void fill_few() {
    few[Few - 1] = run_few_panels<Few>;
    if constexpr (Few > 1) fill_few<Few - 1>();
  }
  constexpr Tiles() : at{}, few{} {
    fill<kVectors>();
    fill_few<kFew>();
  }
};

void run(const PointwiseBlock& block) {
  static constexpr Tiles kTiles;
  const std::ptrdiff_t left = block.pixels % kWidth, few = left <= kFew ? left : 0, whole = block.pixels - few;
  for (std::ptrdiff_t panel = block.panel_begin; panel < block.panel_end; ++panel) {
    const std::ptrdiff_t channel = first_channel(block, panel), rows = first_channel(block, panel + 1) - channel;
    for (std::ptrdiff_t pixel = 0; pixel < whole; pixel += kColumns) {
      const std::ptrdiff_t pixels = whole - pixel < kColumns ? whole - pixel : kColumns;
      const std::ptrdiff_t vectors = (pixels + kWidth - 1) / kWidth;
      Ahead ahead{block.x, 0};
      if (block.ahead != nullptr && panel > block.panel_begin) {
        ahead.steps = block.panel_end - block.panel_begin - 1;
        ahead.x = block.ahead + pixel + block.depth / ahead.steps * (panel - block.panel_begin - 1) * block.plane;
      }
      kTiles.at[panel == block.panel_begin][vectors - 1][rows - 1](block, channel, pixel, pixels,
                                                                   block.packed + pixel * block.depth, ahead);
    }
  }
  if (few > 0) kTiles.few[few - 1](block, whole, block.packed + (whole + kWidth - 1) / kWidth * kWidth * block.depth);
}

}  // namespace

PointwiseFunctions pointwise() { return {kRows, kColumns, kWidth, kFew, run}; }

}  // namespace tessera::cpu::TSR_ISA
