#pragma once

// The dense engine's tile on AMX: 2x2 accumulators of 16x16 float32, that is up to 32 rows by 32 columns. One step
// multiplies 32 elements of the depth: two tiles of rows and two of weights are loaded for four products.
//
// Rows are first copied to where tiles can be loaded from whole cache lines, [step][row][32], once for all panels of
// the call; taps are joined if the weights are. Weights come as packed for pairs, so a tile of them is every second
// line of 16 pairs. Sums go through memory to the vectors that finish them.
//
// Tiles have as many rows as the block's rows ask for (49 rows are two calls of 25, with tiles of 13 and 12), as a
// product takes a cycle for each row of its left operand. What bounds it: loading tiles, weights from the second cache.
//
// Arithmetic is that of vdpbf16ps (dense_simd.h) in another order: even and odd elements of a step are summed apart.

#include "tessera/simd/tile_unit.h"
#include "tessera/targets/cpu/kernels/dense/dense_simd.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr std::ptrdiff_t kTileStep = 32, kTileColumns = 32, kTileLine = 64;  // elements, columns, bytes of a row
constexpr std::ptrdiff_t kUnitRows = 16;

// Rows of the upper and of the lower tiles.
TSR_INLINE std::ptrdiff_t upper_rows(std::ptrdiff_t most) { return most <= kUnitRows ? most : (most + 1) / 2; }

template <class Unit>
void begin_tiles(std::ptrdiff_t most) {
  const auto upper = static_cast<std::uint8_t>(upper_rows(most)), lower = static_cast<std::uint8_t>(most - upper);
  const std::uint8_t rows[8] = {upper, upper, lower, lower, upper, lower, kUnitRows, kUnitRows};
  simd::TileConfig config;
  for (int t = 0; t < 8; ++t) {
    config.rows[t] = rows[t];
    config.row_bytes[t] = rows[t] > 0 ? kTileLine : 0;
  }
  Unit::configure(config);
}

TSR_INLINE void copy_elements(const Bf16* from, Bf16* to, std::ptrdiff_t n) {
#if defined(__AVX512BW__)
  const __mmask32 mask = n >= 32 ? ~__mmask32{0} : (__mmask32{1} << n) - 1;
  _mm512_mask_storeu_epi16(to, mask, _mm512_maskz_loadu_epi16(mask, from));
#else
  for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i];
#endif
}

TSR_INLINE void zero_elements(Bf16* to, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = 0;
}

// Copies the rows to a[step][row][element], and returns the number of steps. Elements behind the end of a run are 0,
// for 0 times what happened to be there could be NaN; so are rows behind the last.
TSR_INLINE std::ptrdiff_t copy_rows(const DenseTile& tile, std::ptrdiff_t row_stride, Bf16* a) {
  const std::ptrdiff_t most = tile.most, count = tile.count;
  std::ptrdiff_t k = 0;
  for (std::ptrdiff_t t = 0; t < tile.taps; ++t) {
    const void* const* rows = tile.rows + t * row_stride;
    for (std::ptrdiff_t c = 0; c < tile.depth;) {
      const std::ptrdiff_t at = k % kTileStep, left = tile.depth - c;
      const std::ptrdiff_t n = left < kTileStep - at ? left : kTileStep - at;
      Bf16* to = a + k / kTileStep * most * kTileStep + at;
      for (std::ptrdiff_t m = 0; m < count; ++m)
        copy_elements(static_cast<const Bf16*>(rows[m]) + tile.row_offset + c, to + m * kTileStep, n);
      c += n;
      k += n;
    }
    if (k % kTileStep != 0 && (!tile.joined || t + 1 == tile.taps)) {
      const std::ptrdiff_t at = k % kTileStep;
      Bf16* to = a + k / kTileStep * most * kTileStep + at;
      for (std::ptrdiff_t m = 0; m < count; ++m) zero_elements(to + m * kTileStep, kTileStep - at);
      k += kTileStep - at;
    }
  }
  const std::ptrdiff_t steps = k / kTileStep;
  if (count < most)
    for (std::ptrdiff_t s = 0; s < steps; ++s)
      zero_elements(a + (s * most + count) * kTileStep, (most - count) * kTileStep);
  return steps;
}

// Sums of one panel, [most][32]; of the columns only the first 16 where C is 1, and no lower tiles where R is 1.
template <class Unit, int R, int C>
TSR_INLINE void multiply_panel(const Bf16* a, const Bf16* w, std::ptrdiff_t steps, std::ptrdiff_t most,
                               std::ptrdiff_t upper, float* sums) {
  constexpr std::ptrdiff_t kWeightLine = 2 * kTileLine, kSumLine = kTileColumns * static_cast<int>(sizeof(float));
  Unit::template zero<0>();
  if constexpr (C > 1) Unit::template zero<1>();
  if constexpr (R > 1) Unit::template zero<2>();
  if constexpr (R > 1 && C > 1) Unit::template zero<3>();
  for (std::ptrdiff_t s = 0; s < steps; ++s, a += most * kTileStep, w += kTileStep * kTileColumns) {
    Unit::template load<4>(a, kTileLine);
    Unit::template load<6>(w, kWeightLine);
    Unit::template dot<0, 4, 6>();
    if constexpr (C > 1) {
      Unit::template load<7>(w + kTileStep, kWeightLine);
      Unit::template dot<1, 4, 7>();
    }
    if constexpr (R > 1) {
      Unit::template load<5>(a + upper * kTileStep, kTileLine);
      Unit::template dot<2, 5, 6>();
      if constexpr (C > 1) Unit::template dot<3, 5, 7>();
    }
  }
  Unit::template store<0>(sums, kSumLine);
  if constexpr (C > 1) Unit::template store<1>(sums + kUnitRows, kSumLine);
  if constexpr (R > 1) Unit::template store<2>(sums + upper * kTileColumns, kSumLine);
  if constexpr (R > 1 && C > 1) Unit::template store<3>(sums + upper * kTileColumns + kUnitRows, kSumLine);
}

// finish_panel() where all is clipping.
TSR_INLINE void finish_clips(const DenseTile& tile, std::ptrdiff_t first_column, const float* sums, const float* bias) {
  constexpr std::ptrdiff_t kWidth = Vec::kWidth;
  const DenseEpilogue& epilogue = *tile.epilogue;
  const std::ptrdiff_t left = tile.columns - first_column, columns = left < kTileColumns ? left : kTileColumns;
  const Vec low = Vec::all(epilogue.before_low), high = Vec::all(epilogue.before_high);
  const Vec after_low = Vec::all(epilogue.after_low), after_high = Vec::all(epilogue.after_high);
  for (std::ptrdiff_t n = 0; n + kWidth <= columns; n += kWidth) {
    const Vec start = bias ? Vec::load(bias + n) : Vec::zero();
    for (std::ptrdiff_t m = 0; m < tile.count; ++m) {
      Vec v = clip(Vec::load(sums + m * kTileColumns + n) + start, low, high);
      if (tile.residual != nullptr)
        v = clip(v + Vec::load(static_cast<const Bf16*>(tile.residual[m]) + first_column + n), after_low, after_high);
      v.store(static_cast<Bf16*>(tile.y[m]) + first_column + n);
    }
  }
  if (const std::ptrdiff_t n = columns / kWidth * kWidth; n < columns) {
    const Vec::Mask rest = Vec::first(columns - n);
    const Vec start = bias ? Vec::load(bias + n) : Vec::zero();
    for (std::ptrdiff_t m = 0; m < tile.count; ++m) {
      Vec v = clip(Vec::load(sums + m * kTileColumns + n) + start, low, high);
      if (tile.residual != nullptr)
        v = clip(v + Vec::load(static_cast<const Bf16*>(tile.residual[m]) + first_column + n, rest), after_low,
                 after_high);
      v.store(static_cast<Bf16*>(tile.y[m]) + first_column + n, rest);
    }
  }
}

// Takes up and puts down sums of parts of the reduction; true if there are more to come.
TSR_INLINE bool hold_sums(const DenseTile& tile, float* partial, float* sums) {
  for (std::ptrdiff_t i = 0; i < tile.count * kTileColumns; i += Vec::kWidth) {
    Vec v = Vec::load(sums + i);
    if (!tile.first) v = v + Vec::load(partial + i);
    v.store((tile.last ? sums : partial) + i);
  }
  return !tile.last;
}

template <class Unit>
void dense_tiles(const DenseTile& tile) {
  alignas(64) Bf16 a[kDenseTileElements];
  alignas(64) float sums[2 * kUnitRows * kTileColumns];
  const std::ptrdiff_t most = tile.most, upper = upper_rows(most);
  const std::ptrdiff_t steps = copy_rows(tile, 2 * kUnitRows, a);
  const Bf16* w = static_cast<const Bf16*>(tile.weights);
  for (std::ptrdiff_t panel = 0, column = 0; column < tile.columns; ++panel, column += kTileColumns) {
    const bool narrow = tile.columns - column <= kUnitRows;
    if (narrow)  // nothing is written to the other half: it is added to bounds and parts all the same
      for (std::ptrdiff_t m = 0; m < most; ++m)
        for (std::ptrdiff_t n = kUnitRows; n < kTileColumns; n += Vec::kWidth)
          Vec::zero().store(sums + m * kTileColumns + n);
    if (most > upper)
      narrow ? multiply_panel<Unit, 2, 1>(a, w, steps, most, upper, sums)
             : multiply_panel<Unit, 2, 2>(a, w, steps, most, upper, sums);
    else
      narrow ? multiply_panel<Unit, 1, 1>(a, w, steps, most, upper, sums)
             : multiply_panel<Unit, 1, 2>(a, w, steps, most, upper, sums);
    w += tile.panel_elements;
    if (tile.partial != nullptr && hold_sums(tile, tile.partial + panel * tile.count * kTileColumns, sums)) continue;
    const float* bias = tile.bias ? tile.bias + column : nullptr;
    if (tile.epilogue->clips)
      finish_clips(tile, column, sums, bias);
    else
      finish_panel<Bf16>(tile, column, sums, kTileColumns, bias);
  }
}

}  // namespace
}  // namespace tessera::cpu::TSR_ISA
