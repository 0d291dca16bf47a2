// 6 x 16 sums of 16 products in 12 registers; Dst stays in memory.

#include "tessera/targets/tensix/ops/matmul/product_run.h"

#include <immintrin.h>

namespace tessera::tensix {
namespace {

constexpr int kRows = ProductRun::kRows, kColumns = ProductRun::kColumns, kHalves = 2;

template <bool float32>
inline __m256 into_dst(__m256 x) {
  const __m256i u = _mm256_castps_si256(x), exponent = _mm256_and_si256(u, _mm256_set1_epi32(0x7F80'0000));
  const __m256i none = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
  if constexpr (float32) return _mm256_castsi256_ps(_mm256_andnot_si256(none, u));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7FFF)), odd);
  const __m256i kept = _mm256_and_si256(up, _mm256_set1_epi32(static_cast<int>(0xFFFF'0000u)));
  return _mm256_castsi256_ps(_mm256_andnot_si256(none, kept));
}

// One face of k over 16 columns.
template <bool float32>
inline void run_face(const float* left, const float* right, float* dst) {
  __m256 sum[kRows][kHalves];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) sum[r][h] = _mm256_setzero_ps();
  for (int k = 0; k < 16; ++k, left += kRows, right += kColumns) {
    const __m256 b0 = _mm256_loadu_ps(right), b1 = _mm256_loadu_ps(right + 8);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m256 a = _mm256_broadcast_ss(left + r);
      sum[r][0] = _mm256_fmadd_ps(a, b0, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(a, b1, sum[r][1]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      float* at = dst + r * kColumns + 8 * h;
      _mm256_storeu_ps(at, into_dst<float32>(_mm256_add_ps(_mm256_loadu_ps(at), sum[r][h])));
    }
}

template <bool float32>
void run_tiles(const ProductRun& run) {
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    if (run.right[t] == nullptr) continue;
    for (int phase = 0; phase < run.phases; ++phase) {
      const float* left = run.left + (2 * t + (phase >> 1)) * ProductRun::kLeftFloats;
      const float* right = run.right[t] + (phase & 1) * ProductRun::kRightFloats;
      for (int face = 0; face < 2; ++face)
        for (int column = 0; column < kColumns; column += 16)
          run_face<float32>(left + 16 * face * kRows, right + 16 * face * kColumns + column, run.dst + column);
    }
  }
}

}  // namespace

void product_run_avx2(const ProductRun& run) noexcept { run.float32 ? run_tiles<true>(run) : run_tiles<false>(run); }

}  // namespace tessera::tensix
