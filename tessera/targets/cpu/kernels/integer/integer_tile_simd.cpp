// The tile of the integer engine for one instruction set. As in the dense engine, MR rows of NV vectors of sums stay in
// registers; each step loads NV vectors of weights and broadcasts MR groups of x that are each used NV times. With VNNI
// every step multiplies four times as many numbers as float32 would.
//
// Compiled for: portable avx2 avx512 avx512_vnni

#include "tessera/targets/cpu/kernels/integer/integer_epilogue_simd.h"
#include "tessera/targets/cpu/kernels/integer/integer_tile.h"

namespace tessera::cpu::TSR_ISA {
namespace {

#if defined(TSR_AVX512)
constexpr int kTileRows = 14, kTileVectors = 2;
#elif defined(__AVX2__)
constexpr int kTileRows = 6, kTileVectors = 2;
#else
constexpr int kTileRows = 4, kTileVectors = 2;
#endif
constexpr int kTileColumns = kTileVectors * Ints::kWidth;

template <int MR, int NV, bool kFlips>
TSR_INLINE void step(Ints (&sums)[MR][NV], const std::byte* const (&x)[MR], std::ptrdiff_t at, const std::byte* w) {
  Ints weights[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) weights[v] = Ints::load(w + v * Ints::kWidth * 4);
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m) {
    Ints value = group_at(x[m] + at);
    if constexpr (kFlips) value = value ^ Ints::all(static_cast<std::int32_t>(0x80808080u));
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sums[m][v] = dot(sums[m][v], value, weights[v]);
  }
}

template <int MR, int NV, bool kFlips>
void integer_panel(const IntegerTile& tile, const std::byte* w, const std::int32_t* bias, std::int32_t* out) {
  Ints sums[MR][NV];
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sums[m][v] = Ints::load(bias + v * Ints::kWidth);
  const std::ptrdiff_t groups = tile.groups, last_at = tile.last_at;
  for (std::ptrdiff_t t = 0; t < tile.taps; ++t) {
    const std::byte* x[MR];
#pragma GCC unroll 32
    for (int m = 0; m < MR; ++m) x[m] = tile.rows[t * kTileRows + m];
    for (std::ptrdiff_t g = 0; g < groups; ++g, w += kTileColumns * 4) step<MR, NV, kFlips>(sums, x, g * 4, w);
    if (last_at >= 0) {
      step<MR, NV, kFlips>(sums, x, last_at, w);
      w += kTileColumns * 4;
    }
  }
#pragma GCC unroll 32
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sums[m][v].store(out + m * kTileColumns + v * Ints::kWidth);
}

using IntegerPanelFn = void (*)(const IntegerTile& tile, const std::byte* w, const std::int32_t* bias,
                                std::int32_t* out);

template <bool kFlips>
struct IntegerPanels {
  IntegerPanelFn at[kTileVectors][kTileRows];

  template <int MR, int NV>
  constexpr void fill() {
    at[NV - 1][MR - 1] = integer_panel<MR, NV, kFlips>;
    if constexpr (MR > 1) fill<MR - 1, NV>();
  }
  constexpr IntegerPanels() : at{} {
    fill<kTileRows, 1>();
    fill<kTileRows, 2>();
  }
};

template <bool kAdds, bool kSign>
__attribute__((noinline)) void finish_panel(const IntegerTile& tile, std::ptrdiff_t first, std::ptrdiff_t columns,
                                            const std::int32_t* sums) {
  const Finisher finisher(*tile.epilogue);
  for (std::ptrdiff_t m = 0; m < tile.count; ++m)
    finish_row<kAdds, kSign>(finisher, sums + m * kTileColumns, tile.factors + first, columns,
                             kAdds ? tile.residual[m] + first : nullptr, tile.y[m] + first);
}

#if defined(TSR_AVX512)
// A whole panel of products within int32.
__attribute__((noinline)) void finish_whole_panel(const IntegerTile& tile, std::ptrdiff_t first,
                                                  const std::int32_t* sums) {
  const WordFinisher finisher(*tile.epilogue);
  const Vec a = Vec::load(tile.factors + first), b = Vec::load(tile.factors + first + Ints::kWidth);
  for (std::ptrdiff_t m = 0; m < tile.count; ++m, sums += kTileColumns)
    finisher.store(to_int(to_float(Ints::load(sums)) * a), to_int(to_float(Ints::load(sums + Ints::kWidth)) * b),
                   tile.y[m] + first);
}
#endif

__attribute__((noinline)) void store_panel(const IntegerTile& tile, std::ptrdiff_t first, std::ptrdiff_t columns,
                                           const std::int32_t* sums) {
  for (std::ptrdiff_t m = 0; m < tile.count; ++m) {
    std::int32_t* y = reinterpret_cast<std::int32_t*>(tile.y[m]) + first;
    for (std::ptrdiff_t i = 0; i < columns; i += Ints::kWidth) {
      const Ints sum = Ints::load(sums + m * kTileColumns + i);
      if (i + Ints::kWidth <= columns)
        sum.store(y + i);
      else
        sum.store(y + i, static_cast<int>(columns - i));
    }
  }
}

}  // namespace

void integer_tile(const IntegerTile& tile) {
  static constexpr IntegerPanels<false> kPlain;
#if defined(__AVX512VNNI__)
  static constexpr IntegerPanels<true> kFlipping;
#else
  static constexpr const IntegerPanels<false>& kFlipping = kPlain;  // x is int16
#endif
  alignas(64) std::int32_t sums[kTileRows * kTileColumns];
  const std::byte* w = tile.weights;
  for (std::ptrdiff_t first = 0; first < tile.columns; first += kTileColumns, w += tile.panel_bytes) {
    const std::ptrdiff_t left = tile.columns - first, columns = left < kTileColumns ? left : kTileColumns;
    const std::ptrdiff_t vectors = (columns + Ints::kWidth - 1) / Ints::kWidth;
    (tile.flips ? kFlipping.at : kPlain.at)[vectors - 1][tile.count - 1](tile, w, tile.bias + first, sums);
    if (!tile.epilogue->requantizes) store_panel(tile, first, columns, sums);
#if defined(TSR_AVX512)
    else if (!tile.epilogue->adds && tile.within_int32 && columns == kTileColumns)
      finish_whole_panel(tile, first, sums);
#endif
    else if (!tile.epilogue->adds)
      finish_panel<false, false>(tile, first, columns, sums);
    else if (tile.epilogue->residual_sign)
      finish_panel<true, true>(tile, first, columns, sums);
    else
      finish_panel<true, false>(tile, first, columns, sums);
  }
}

}  // namespace tessera::cpu::TSR_ISA
