// Included by peak_<isa>.cpp: multiply-adds that wait for nothing but each other. Nothing else is included, so that no
// function that others could share is made for one instruction set.

#if defined(__AVX512F__)
#define TSR_PEAK_ISA avx512
#define TSR_PEAK_LANES 16
#elif defined(__AVX2__)
#define TSR_PEAK_ISA avx2
#define TSR_PEAK_LANES 8
#else
#define TSR_PEAK_ISA portable
#define TSR_PEAK_LANES 4
#endif

namespace tessera::cpu::TSR_PEAK_ISA {

typedef float Vec __attribute__((vector_size(4 * TSR_PEAK_LANES)));

constexpr int kChains = 12;  // more than latency times throughput of any CPU so far

double peak_loop(long rounds, float seed) {
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = seed + static_cast<float>(i) - Vec{};
  const Vec a = 1.0f - seed * 1e-9f - Vec{}, b = seed * 1e-9f - Vec{};
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * a + b;  // one instruction where the set has it
  }
  Vec total = sums[0];
  for (int i = 1; i < kChains; ++i) total = total + sums[i];
  double sum = 0;
  for (int i = 0; i < TSR_PEAK_LANES; ++i) sum += static_cast<double>(total[i]);
  return sum;
}

double peak_loop_flops(long rounds) { return 2.0 * kChains * TSR_PEAK_LANES * static_cast<double>(rounds); }

}  // namespace tessera::cpu::TSR_PEAK_ISA
