// The product of one matmul: kRows rows by two vectors in registers. Every sum is a chain of fused multiply-adds in the
// order of k, as product_portable.cpp has it.
//
// Compiled for: avx2 avx512

#include "tessera/simd/vec.h"
#include "tessera/targets/neuron/core/product.h"

namespace tessera::neuron::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kRows = Vec::kWidth / 2;
constexpr int kWide = 2 * Vec::kWidth;
constexpr int kPadded = 128;  // rows of b that the last columns are padded for: as many as there are partitions

// Rows of kWide columns.
template <int Rows>
inline void block(const float* a, const float* b, float* c, int k, long lda, long ldb, long ldc) {
  Vec sum[Rows][2];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) sum[r][0] = sum[r][1] = Vec::zero();
  for (int i = 0; i < k; ++i) {
    const Vec x = Vec::load(b + i * ldb), y = Vec::load(b + i * ldb + Vec::kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const Vec w = Vec::all(a[i * lda + r]);
      sum[r][0] = fma(w, x, sum[r][0]);
      sum[r][1] = fma(w, y, sum[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    sum[r][0].store(c + r * ldc);
    sum[r][1].store(c + r * ldc + Vec::kWidth);
  }
}

// All rows of kWide columns: that part of b stays in the first cache.
inline void panel(const float* a, const float* b, float* c, int k, int m, long ldb, long ldc) {
  int r = 0;
  for (; r + kRows <= m; r += kRows) block<kRows>(a + r, b, c + r * ldc, k, m, ldb, ldc);
  for (; r < m; ++r) block<1>(a + r, b, c + r * ldc, k, m, ldb, ldc);
}

}  // namespace

void product(const float* a, const float* b, float* c, int k, int m, int n) {
  int j = 0;
  for (; j + kWide <= n; j += kWide) panel(a, b + j, c + j, k, m, n, n);
  if (j == n) return;
  const int rest = n - j;
  if (k > kPadded || m > kPadded) {
    for (; j < n; ++j)
      for (int r = 0; r < m; ++r) {
        float sum = 0;
        for (int i = 0; i < k; ++i)
          sum = __builtin_fmaf(a[static_cast<long>(i) * m + r], b[static_cast<long>(i) * n + j], sum);
        c[static_cast<long>(r) * n + j] = sum;
      }
    return;
  }
  float padded[kPadded * kWide] = {}, sums[kPadded * kWide];
  for (int i = 0; i < k; ++i)
    __builtin_memcpy(padded + i * kWide, b + static_cast<long>(i) * n + j,
                     static_cast<unsigned long>(rest) * sizeof(float));
  panel(a, padded, sums, k, m, kWide, kWide);
  for (int r = 0; r < m; ++r)
    __builtin_memcpy(c + static_cast<long>(r) * n + j, sums + r * kWide,
                     static_cast<unsigned long>(rest) * sizeof(float));
}

}  // namespace tessera::neuron::TSR_ISA
