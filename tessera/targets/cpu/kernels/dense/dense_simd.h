#pragma once

// The tiles of the dense engine for one instruction set, written once over Vec. `MR` rows of `NV` vectors of sums
// stay in registers: each step of the depth loads NV vectors of weights, and broadcasts MR elements of x that are each
// used NV times.
//
// What bounds it: the multiply-adds. A 14x32 tile reads 128 bytes of weights in 28 of them, so weights may come from
// the second cache; rows of x stay in the first one. On a Zen 4 core (one 512-bit multiply-add per cycle) the loop
// alone reaches 97% of the peak with 14x32 and 98% with 6x64; the convolutions of
// ResNet-50 together reach 97% on one thread and 94% on two.
//
// With AVX512_BF16 a step takes two elements of the depth at once: x and weights stay bfloat16, and vdpbf16ps adds both
// products to a sum of float32. It rounds each addition to nearest even whatever the control register says, takes
// subnormal numbers for zero and makes none, and raises nothing; infinities and NaN are as ever. On Zen 4 it takes the
// time of a multiply-add: the convolutions of ResNet-50 reach 162 to 200% of float32's peak on one thread.

#include "tessera/targets/cpu/kernels/activation_simd.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"

namespace tessera::cpu::TSR_ISA {
namespace {

// The sums of one panel, in memory: any activation, any number of columns.
template <class T>
__attribute__((noinline)) void finish_panel(const DenseTile& tile, std::ptrdiff_t first_column, const float* sums,
                                            std::ptrdiff_t stride, const float* bias) {
  constexpr std::ptrdiff_t kWidth = Vec::kWidth;
  const DenseEpilogue& epilogue = *tile.epilogue;
  const std::ptrdiff_t left = tile.columns - first_column, columns = left < stride ? left : stride;
  for (std::ptrdiff_t m = 0; m < tile.count; ++m) {
    T* y = static_cast<T*>(tile.y[m]) + first_column;
    const T* residual = tile.residual ? static_cast<const T*>(tile.residual[m]) + first_column : nullptr;
    for (std::ptrdiff_t n = 0; n < columns; n += kWidth) {
      Vec v = Vec::load(sums + m * stride + n);
      if (bias) v = v + Vec::load(bias + n);
      v = apply(epilogue.before, v);
      if (n + kWidth <= columns) {
        if (residual) v = apply(epilogue.after, v + Vec::load(residual + n));
        v.store(y + n);
      } else {
        const Vec::Mask rest = Vec::first(columns - n);
        if (residual) v = apply(epilogue.after, v + Vec::load(residual + n, rest));
        v.store(y + n, rest);
      }
    }
  }
}

// One step of the depth: an element of x times a vector of weights, in float32 ...
template <class T>
struct Singles {
  using Storage = T;
  using X = float;
  using Operand = Vec;
  static constexpr int kStep = 1;
  static TSR_INLINE Vec x(const float* at) { return Vec::all(*at); }
  static TSR_INLINE Vec weights(const T* at) { return Vec::load(at); }
  static TSR_INLINE Vec add(Vec x, Vec weights, Vec sum) { return fma(x, weights, sum); }
};

#if defined(__AVX512BF16__)
// ... or two elements times pairs of weights.
struct Pairs {
  using Storage = Bf16;
  using X = Bf16;
  using Operand = __m512i;
  static constexpr int kStep = 2;
  static TSR_INLINE __m512i x(const Bf16* at) {
    std::int32_t pair;
    __builtin_memcpy(&pair, at, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  // The last of an odd depth; its neighbour is 0 as the weight is, or NaN behind it would be seen.
  static TSR_INLINE __m512i last(const Bf16* at) { return _mm512_set1_epi32(*at); }
  static TSR_INLINE __m512i weights(const Bf16* at) { return _mm512_loadu_si512(at); }
  static TSR_INLINE Vec add(__m512i x, __m512i weights, Vec sum) {
    return {_mm512_dpbf16_ps(sum.v, (__m512bh)x, (__m512bh)weights)};
  }
};
template <class T>
using Products = Pairs;
#else
template <class T>
using Products = Singles<T>;
#endif

// One panel of `Stride` columns, of which the first NV vectors hold any. `Sums` vectors of sums are worth waiting for.
template <class Math, int MR, int NV, int Stride, int Sums>
void dense_panel(const DenseTile& tile, std::ptrdiff_t panel, std::ptrdiff_t row_stride) {
  using T = typename Math::Storage;
  using Operand = typename Math::Operand;
  constexpr int kWidth = Vec::kWidth, kStep = Math::kStep;
  // A few sums would wait for each other's latency: then neighbours in depth go to sums of their own.
  constexpr int kChains = Sums >= 6 ? 1 : Sums >= 3 ? 2 : 4;
  Vec sums[kChains][MR][NV];
#pragma GCC unroll 4
  for (int u = 0; u < kChains; ++u)
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sums[u][m][v] = Vec::zero();

  const T* w = static_cast<const T*>(tile.weights) + panel * tile.panel_elements;
  const std::ptrdiff_t steps = tile.depth / kStep;
  for (std::ptrdiff_t t = 0; t < tile.taps; ++t) {
    const typename Math::X* x[MR];
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m)
      x[m] = static_cast<const typename Math::X*>(tile.rows[t * row_stride + m]) + tile.row_offset;
    std::ptrdiff_t c = 0;
    if constexpr (kChains > 1) {
      for (; c + kChains <= steps; c += kChains) {
#pragma GCC unroll 4
        for (int u = 0; u < kChains; ++u) {
#pragma GCC unroll 8
          for (int v = 0; v < NV; ++v) {
            const Operand weights = Math::weights(w + (u * Stride + v * kWidth) * kStep);
#pragma GCC unroll 32
            for (int m = 0; m < MR; ++m)
              sums[u][m][v] = Math::add(Math::x(x[m] + (c + u) * kStep), weights, sums[u][m][v]);
          }
        }
        w += kChains * Stride * kStep;
      }
    }
    for (; c < steps; ++c) {
      Operand weights[NV];
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) weights[v] = Math::weights(w + v * kWidth * kStep);
      w += Stride * kStep;
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m) {
        const Operand value = Math::x(x[m] + c * kStep);
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) sums[0][m][v] = Math::add(value, weights[v], sums[0][m][v]);
      }
    }
    if constexpr (kStep > 1) {
      if (tile.depth % kStep != 0) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) {
          const Operand weights = Math::weights(w + v * kWidth * kStep);
#pragma GCC unroll 32
          for (int m = 0; m < MR; ++m) sums[0][m][v] = Math::add(Math::last(x[m] + c * kStep), weights, sums[0][m][v]);
        }
        w += Stride * kStep;
      }
    }
  }
  if constexpr (kChains > 1) {
#pragma GCC unroll 4
    for (int u = 1; u < kChains; ++u)
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) sums[0][m][v] = sums[0][m][v] + sums[u][m][v];
  }

  if (tile.partial != nullptr) {
    float* partial = tile.partial + panel * tile.count * Stride;
    if (!tile.first) {
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) sums[0][m][v] = sums[0][m][v] + Vec::load(partial + m * Stride + v * kWidth);
    }
    if (!tile.last) {
#pragma GCC unroll 32
      for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) sums[0][m][v].store(partial + m * Stride + v * kWidth);
      return;
    }
  }

  const std::ptrdiff_t first_column = panel * Stride;
  const float* bias = tile.bias ? tile.bias + first_column : nullptr;
  const DenseEpilogue& epilogue = *tile.epilogue;
  if (!epilogue.clips || first_column + NV * kWidth > tile.columns) {
    float memory[MR * Stride];
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sums[0][m][v].store(memory + m * Stride + v * kWidth);
    finish_panel<T>(tile, first_column, memory, Stride, bias);
    return;
  }
  const Vec low = Vec::all(epilogue.before_low), high = Vec::all(epilogue.before_high);
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    const Vec start = bias ? Vec::load(bias + v * kWidth) : Vec::zero();
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) sums[0][m][v] = clip(sums[0][m][v] + start, low, high);
  }
  if (tile.residual != nullptr) {
    const Vec after_low = Vec::all(epilogue.after_low), after_high = Vec::all(epilogue.after_high);
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) {
      const T* residual = static_cast<const T*>(tile.residual[m]) + first_column;
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        sums[0][m][v] = clip(sums[0][m][v] + Vec::load(residual + v * kWidth), after_low, after_high);
    }
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m) {
    T* y = static_cast<T*>(tile.y[m]) + first_column;
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sums[0][m][v].store(y + v * kWidth);
  }
}

using DensePanelFn = void (*)(const DenseTile& tile, std::ptrdiff_t panel, std::ptrdiff_t row_stride);

// Sums = 0: as many as there are.
template <class Math, int MR, int NV, int Stride, int Sums>
constexpr void fill_rows(DensePanelFn* table) {
  if constexpr (MR > 0) {
    table[MR - 1] = dense_panel<Math, MR, NV, Stride, (Sums == 0 ? MR * NV : Sums)>;
    fill_rows<Math, MR - 1, NV, Stride, Sums>(table);
  }
}

template <class Math, int MR, int NV>
struct DensePanels {
  // [vectors with columns - 1][rows - 1]. How rows are cut into tiles depends on the number of threads, so the order of
  // sums must not depend on the rows of a tile; unless there are so few in all that nobody cuts them.
  DensePanelFn at[NV][MR];
  DensePanelFn few[NV][dense_few(MR)];

  template <int V>
  constexpr void fill() {
    fill_rows<Math, MR, V, NV * Vec::kWidth, (MR / 2 + 1) * V>(at[V - 1]);
    fill_rows<Math, dense_few(MR), V, NV * Vec::kWidth, 0>(few[V - 1]);
    if constexpr (V > 1) fill<V - 1>();
  }
  constexpr DensePanels() : at{}, few{} { fill<NV>(); }
};

template <class Math, int MR, int NV>
void dense_tile(const DenseTile& tile) {
  static constexpr DensePanels<Math, MR, NV> kPanels;
  constexpr std::ptrdiff_t kColumns = NV * Vec::kWidth;
  for (std::ptrdiff_t panel = 0; panel * kColumns < tile.columns; ++panel) {
    const std::ptrdiff_t left = tile.columns - panel * kColumns;
    const std::ptrdiff_t vectors = left >= kColumns ? NV : (left + Vec::kWidth - 1) / Vec::kWidth;
    (tile.few ? kPanels.few[vectors - 1] : kPanels.at[vectors - 1])[tile.count - 1](tile, panel, MR);
  }
}

template <class T>
void dense_max(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, void* y) {
  T* to = static_cast<T*>(y);
  const auto larger = [](Vec best, Vec v) { return select(is_nan(best), best, max_second(best, v)); };
  std::ptrdiff_t e = 0;
  for (; e + Vec::kWidth <= elements; e += Vec::kWidth) {
    Vec best = Vec::load(static_cast<const T*>(rows[0]) + e);
    for (std::ptrdiff_t i = 1; i < count; ++i) best = larger(best, Vec::load(static_cast<const T*>(rows[i]) + e));
    best.store(to + e);
  }
  if (e < elements) {
    const Vec::Mask rest = Vec::first(elements - e);
    Vec best = Vec::load(static_cast<const T*>(rows[0]) + e, rest);
    for (std::ptrdiff_t i = 1; i < count; ++i) best = larger(best, Vec::load(static_cast<const T*>(rows[i]) + e, rest));
    best.store(to + e, rest);
  }
}

using Storage_f32 = float;
using Storage_bf16 = Bf16;

}  // namespace
}  // namespace tessera::cpu::TSR_ISA
