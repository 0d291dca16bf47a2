// 6 x 32 of Dst in 12 registers, the sums of 16 products in 12 more.

#include "tessera/targets/tensix/ops/matmul/product_run.h"

#include <immintrin.h>

namespace tessera::tensix {
namespace {

constexpr int kRows = ProductRun::kRows, kColumns = ProductRun::kColumns, kHalves = 2;

template <bool float32>
inline __m512 into_dst(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __mmask16 some = _mm512_test_epi32_mask(u, _mm512_set1_epi32(0x7F80'0000));
  if constexpr (float32) return _mm512_maskz_mov_ps(some, x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
  return _mm512_castsi512_ps(_mm512_maskz_and_epi32(some, up, _mm512_set1_epi32(static_cast<int>(0xFFFF'0000u))));
}

template <bool float32>
void run_tiles(const ProductRun& run) {
  __m512 dst[kRows][kHalves];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) dst[r][h] = _mm512_loadu_ps(run.dst + r * kColumns + 16 * h);
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    if (run.right[t] == nullptr) continue;
    for (int phase = 0; phase < run.phases; ++phase) {
      const float* left = run.left + (2 * t + (phase >> 1)) * ProductRun::kLeftFloats;
      const float* right = run.right[t] + (phase & 1) * ProductRun::kRightFloats;
      for (int face = 0; face < 2; ++face) {
        __m512 sum[kRows][kHalves];
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
          for (int h = 0; h < kHalves; ++h) sum[r][h] = _mm512_setzero_ps();
        for (int k = 0; k < 16; ++k, left += kRows, right += kColumns) {
          const __m512 b0 = _mm512_loadu_ps(right), b1 = _mm512_loadu_ps(right + 16);
#pragma GCC unroll 6
          for (int r = 0; r < kRows; ++r) {
            const __m512 a = _mm512_set1_ps(left[r]);
            sum[r][0] = _mm512_fmadd_ps(a, b0, sum[r][0]);
            sum[r][1] = _mm512_fmadd_ps(a, b1, sum[r][1]);
          }
        }
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
          for (int h = 0; h < kHalves; ++h) dst[r][h] = into_dst<float32>(_mm512_add_ps(dst[r][h], sum[r][h]));
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) _mm512_storeu_ps(run.dst + r * kColumns + 16 * h, dst[r][h]);
}

}  // namespace

void product_run_avx512(const ProductRun& run) noexcept { run.float32 ? run_tiles<true>(run) : run_tiles<false>(run); }

}  // namespace tessera::tensix
