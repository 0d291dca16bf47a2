// Sums of 16 products, then into Dst. With AVX-512, 6 x 32 of Dst stay in 12 registers and their sums in 12 more; else
// Dst stays in memory and 6 x 16 sums take 12 registers.
//
// Compiled for: avx2 avx512

#include "tessera/simd/ints.h"
#include "tessera/targets/tensix/ops/matmul/product_run.h"

namespace tessera::tensix::TSR_ISA {
namespace {

using namespace simd::TSR_ISA;

constexpr int kRows = ProductRun::kRows, kColumns = ProductRun::kColumns, kHalves = 2;

// 6 rows of two vectors.
struct Block {
  Vec v[kRows][kHalves];

  static TSR_INLINE Block zero() {
    Block out;
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) out.v[r][h] = Vec::zero();
    return out;
  }
  static TSR_INLINE Block load(const float* at) {
    Block out;
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) out.v[r][h] = Vec::load(at + r * kColumns + h * Vec::kWidth);
    return out;
  }
  TSR_INLINE void store(float* at) const {
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) v[r][h].store(at + r * kColumns + h * Vec::kWidth);
  }
};

template <bool float32>
TSR_INLINE Vec into_dst(Vec x) {
  const Ints u = bits(x);
  const Vec::Mask some = has_bits(u, words(0x7F80'0000));
  if constexpr (float32) return float_of_bits(keep(some, u));
  return float_of_bits(keep(some, (u + words(0x7FFF) + ((u >> 16) & words(1))) & words(0xFFFF'0000)));
}

// One face of k.
TSR_INLINE Block face_sums(const float* left, const float* right) {
  Block sum = Block::zero();
  for (int k = 0; k < 16; ++k, left += kRows, right += kColumns) {
    const Vec b0 = Vec::load(right), b1 = Vec::load(right + Vec::kWidth);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const Vec a = Vec::all(left[r]);
      sum.v[r][0] = fma(a, b0, sum.v[r][0]);
      sum.v[r][1] = fma(a, b1, sum.v[r][1]);
    }
  }
  return sum;
}

template <bool float32>
TSR_INLINE Block added(const Block& dst, const Block& sum) {
  Block out;
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) out.v[r][h] = into_dst<float32>(dst.v[r][h] + sum.v[r][h]);
  return out;
}

template <bool float32>
void run_tiles(const ProductRun& run) {
  constexpr bool kInRegisters = kHalves * Vec::kWidth == kColumns;
  [[maybe_unused]] Block held;
  if constexpr (kInRegisters) held = Block::load(run.dst);
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    if (run.right[t] == nullptr) continue;
    for (int phase = 0; phase < run.phases; ++phase) {
      const float* left = run.left + (2 * t + (phase >> 1)) * ProductRun::kLeftFloats;
      const float* right = run.right[t] + (phase & 1) * ProductRun::kRightFloats;
      for (int face = 0; face < 2; ++face, left += 16 * kRows, right += 16 * kColumns) {
        if constexpr (kInRegisters) {
          held = added<float32>(held, face_sums(left, right));
        } else {
          for (int column = 0; column < kColumns; column += kHalves * Vec::kWidth) {
            const Block sum = face_sums(left, right + column);
            added<float32>(Block::load(run.dst + column), sum).store(run.dst + column);
          }
        }
      }
    }
  }
  if constexpr (kInRegisters) held.store(run.dst);
}

}  // namespace

void product_run(const ProductRun& run) noexcept { run.float32 ? run_tiles<true>(run) : run_tiles<false>(run); }

}  // namespace tessera::tensix::TSR_ISA
