#include "bench/backends/fma_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::bench {
namespace {

volatile float g_result = 0;  // keeps the loops from being left out

// Ten sums: more than latency times multiply-adds per cycle of any CPU with these instructions.
#define TSR_TEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double run_avx512(std::int64_t steps) {
  const __m512 by = _mm512_set1_ps(0.999f), plus = _mm512_set1_ps(0.001f);
#define TSR_BEGIN(i) __m512 s##i = _mm512_set1_ps(i);
#define TSR_STEP(i) s##i = _mm512_fmadd_ps(s##i, by, plus);
#define TSR_END(i) g_result = g_result + _mm512_cvtss_f32(s##i);
  TSR_TEN(TSR_BEGIN)
  for (std::int64_t n = 0; n < steps; ++n) {
    TSR_TEN(TSR_STEP)
  }
  TSR_TEN(TSR_END)
#undef TSR_BEGIN
#undef TSR_STEP
#undef TSR_END
  return 10.0 * 16 * 2 * static_cast<double>(steps);
}

__attribute__((target("avx2,fma"))) double run_avx2(std::int64_t steps) {
  const __m256 by = _mm256_set1_ps(0.999f), plus = _mm256_set1_ps(0.001f);
#define TSR_BEGIN(i) __m256 s##i = _mm256_set1_ps(i);
#define TSR_STEP(i) s##i = _mm256_fmadd_ps(s##i, by, plus);
#define TSR_END(i) g_result = g_result + _mm256_cvtss_f32(s##i);
  TSR_TEN(TSR_BEGIN)
  for (std::int64_t n = 0; n < steps; ++n) {
    TSR_TEN(TSR_STEP)
  }
  TSR_TEN(TSR_END)
#undef TSR_BEGIN
#undef TSR_STEP
#undef TSR_END
  return 10.0 * 8 * 2 * static_cast<double>(steps);
}

#endif

typedef float Four __attribute__((vector_size(16)));

double run_portable(std::int64_t steps) {
  const Four by = {0.999f, 0.999f, 0.999f, 0.999f}, plus = {0.001f, 0.001f, 0.001f, 0.001f};
#define TSR_BEGIN(i) Four s##i = {i, i, i, i};
#define TSR_STEP(i) s##i = s##i * by + plus;
#define TSR_END(i) g_result = g_result + s##i[0];
  TSR_TEN(TSR_BEGIN)
  for (std::int64_t n = 0; n < steps; ++n) {
    TSR_TEN(TSR_STEP)
  }
  TSR_TEN(TSR_END)
#undef TSR_BEGIN
#undef TSR_STEP
#undef TSR_END
  return 10.0 * 4 * 2 * static_cast<double>(steps);
}

}  // namespace

double run_fma(Isa isa, std::int64_t steps) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return run_avx512(steps);
  if (isa == Isa::avx2) return run_avx2(steps);
#endif
  (void)isa;
  return run_portable(steps);
}

}  // namespace tessera::bench
