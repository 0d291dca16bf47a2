// Multiply-adds that wait for nothing but each other.

#include "tessera/simd/vec.h"

namespace tessera::TSR_ISA {
namespace {

using simd::TSR_ISA::Vec;

constexpr int kChains = 12;  // more than latency times throughput of any CPU so far

}  // namespace

double peak_loop(long rounds, float seed) {
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vec::all(seed + static_cast<float>(i));
  const Vec a = Vec::all(1.0f - seed * 1e-9f), b = Vec::all(seed * 1e-9f);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = fma(sums[i], a, b);
  }
  Vec total = sums[0];
  for (int i = 1; i < kChains; ++i) total += sums[i];
  return static_cast<double>(sum(total));
}

double peak_loop_flops(long rounds) { return 2.0 * kChains * Vec::kWidth * static_cast<double>(rounds); }

}  // namespace tessera::TSR_ISA
