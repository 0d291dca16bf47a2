#pragma once

// Rows of row-major values to vectors over channels and back, for Winograd's transforms: up to 8 neighbours of a row
// (of kRowsTogether rows) in as many planes as a vector has lanes are one square to transpose in registers. What does
// not exist reads as 0.

#include "tessera/simd/transpose.h"

namespace tessera::cpu::TSR_ISA {
namespace {

constexpr int kRowElements = 8;

// Part of a piece of planes: rows [row_begin, row_end) and columns [column_begin, column_end) of it exist, and `lanes`
// planes.
struct PlanesPart {
  std::ptrdiff_t row_begin, row_end, column_begin, column_end, lanes;
};

// Brings `elements` of each plane nearer, for the channels that come next: planes are too far apart for the processor
// to see what will be read.
TSR_INLINE void fetch_planes(const float* at, std::ptrdiff_t plane, std::ptrdiff_t lanes, std::ptrdiff_t elements) {
  constexpr std::ptrdiff_t kLine = 16;
  for (std::ptrdiff_t lane = 0; lane < lanes && lane < Vec::kWidth; ++lane)
    for (std::ptrdiff_t e = 0; e < elements; e += kLine) __builtin_prefetch(at + lane * plane + e, 0, 2);
}

#if defined(__AVX512F__)

constexpr int kRowsTogether = 2;

TSR_INLINE __mmask8 row_mask(const PlanesPart& part, std::ptrdiff_t row) {
  return row >= part.row_begin && row < part.row_end
             ? __mmask8(((1u << part.column_end) - 1) & ~((1u << part.column_begin) - 1))
             : __mmask8(0);
}

// d[r][j] = at[lane * plane + r * width + j], for rows `first` and `first + 1` of the piece that begins at `at`.
TSR_INLINE void load_rows(const float* at, std::ptrdiff_t plane, std::ptrdiff_t width, std::ptrdiff_t first,
                          const PlanesPart& part, Vec (&d)[kRowsTogether][kRowElements]) {
  const __mmask8 upper = row_mask(part, first), lower = row_mask(part, first + 1);
  const float* row = at + first * width;
  __m512 r[16];
  if (part.lanes >= 16) {
#pragma GCC unroll 16
    for (int lane = 0; lane < 16; ++lane)
      r[lane] = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_maskz_loadu_ps(upper, row + lane * plane)),
                                   _mm256_maskz_loadu_ps(lower, row + lane * plane + width), 1);
  } else {
#pragma GCC unroll 16
    for (int lane = 0; lane < 16; ++lane) {
      const bool there = lane < part.lanes;
      r[lane] = _mm512_insertf32x8(
          _mm512_castps256_ps512(_mm256_maskz_loadu_ps(there ? upper : __mmask8(0), row + lane * plane)),
          _mm256_maskz_loadu_ps(there ? lower : __mmask8(0), row + lane * plane + width), 1);
    }
  }
  transpose_registers(r);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) d[0][j] = {r[j]}, d[1][j] = {r[8 + j]};
}

TSR_INLINE void store_rows(float* at, std::ptrdiff_t plane, std::ptrdiff_t width, std::ptrdiff_t first,
                           const PlanesPart& part, const Vec (&d)[kRowsTogether][kRowElements]) {
  const __mmask8 upper = row_mask(part, first), lower = row_mask(part, first + 1);
  __m512 r[16];
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) r[j] = d[0][j].v, r[8 + j] = d[1][j].v;
  transpose_registers(r);
  float* row = at + first * width;
#pragma GCC unroll 16
  for (int lane = 0; lane < 16; ++lane) {
    if (lane >= part.lanes) break;
    _mm256_mask_storeu_ps(row + lane * plane, upper, _mm512_castps512_ps256(r[lane]));
    _mm256_mask_storeu_ps(row + lane * plane + width, lower, _mm512_extractf32x8_ps(r[lane], 1));
  }
}

#elif defined(__AVX2__)

constexpr int kRowsTogether = 1;

TSR_INLINE __m256i row_mask(const PlanesPart& part, std::ptrdiff_t row) {
  const __m256i column = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const bool there = row >= part.row_begin && row < part.row_end;
  const __m256i end = _mm256_set1_epi32(there ? static_cast<int>(part.column_end) : 0),
                begin = _mm256_set1_epi32(static_cast<int>(part.column_begin));
  return _mm256_andnot_si256(_mm256_cmpgt_epi32(begin, column), _mm256_cmpgt_epi32(end, column));
}

TSR_INLINE void load_rows(const float* at, std::ptrdiff_t plane, std::ptrdiff_t width, std::ptrdiff_t first,
                          const PlanesPart& part, Vec (&d)[kRowsTogether][kRowElements]) {
  const __m256i mask = row_mask(part, first);
  const float* row = at + first * width;
  __m256 r[8];
#pragma GCC unroll 8
  for (int lane = 0; lane < 8; ++lane)
    r[lane] = lane < part.lanes ? _mm256_maskload_ps(row + lane * plane, mask) : _mm256_setzero_ps();
  transpose_registers(r);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) d[0][j] = {r[j]};
}

TSR_INLINE void store_rows(float* at, std::ptrdiff_t plane, std::ptrdiff_t width, std::ptrdiff_t first,
                           const PlanesPart& part, const Vec (&d)[kRowsTogether][kRowElements]) {
  const __m256i mask = row_mask(part, first);
  __m256 r[8];
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) r[j] = d[0][j].v;
  transpose_registers(r);
  float* row = at + first * width;
#pragma GCC unroll 8
  for (int lane = 0; lane < 8; ++lane)
    if (lane < part.lanes) _mm256_maskstore_ps(row + lane * plane, mask, r[lane]);
}

#else

constexpr int kRowsTogether = 1;

TSR_INLINE void load_rows(const float* at, std::ptrdiff_t plane, std::ptrdiff_t width, std::ptrdiff_t first,
                          const PlanesPart& part, Vec (&d)[kRowsTogether][kRowElements]) {
  const bool there = first >= part.row_begin && first < part.row_end;
  for (int j = 0; j < kRowElements; ++j) {
    d[0][j] = Vec::zero();
    if (there && j >= part.column_begin && j < part.column_end)
      for (int lane = 0; lane < Vec::kWidth && lane < part.lanes; ++lane)
        d[0][j].v[lane] = at[lane * plane + first * width + j];
  }
}

TSR_INLINE void store_rows(float* at, std::ptrdiff_t plane, std::ptrdiff_t width, std::ptrdiff_t first,
                           const PlanesPart& part, const Vec (&d)[kRowsTogether][kRowElements]) {
  if (first < part.row_begin || first >= part.row_end) return;
  for (std::ptrdiff_t j = part.column_begin; j < part.column_end; ++j)
    for (int lane = 0; lane < Vec::kWidth && lane < part.lanes; ++lane)
      at[lane * plane + first * width + j] = d[0][j].v[lane];
}

#endif

}  // namespace
}  // namespace tessera::cpu::TSR_ISA
