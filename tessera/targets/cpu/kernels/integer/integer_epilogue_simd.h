#pragma once

#include "tessera/simd/ints.h"
#include "tessera/targets/cpu/kernels/integer/integer_epilogue.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

// The constants of an epilogue in registers.
struct Finisher {
  Vec low, high, scale, residual_scale, sum_scale, reciprocal, sum_low, sum_high;
  Ints zero, shift, residual_less, sum_zero;
  bool divides;

  explicit TSR_INLINE Finisher(const IntegerEpilogue& e)
      : low(Vec::all(e.low)),
        high(Vec::all(e.high)),
        scale(Vec::all(e.scale)),
        residual_scale(Vec::all(e.residual_scale)),
        sum_scale(Vec::all(e.sum_scale)),
        reciprocal(Vec::all(e.reciprocal)),
        sum_low(Vec::all(e.sum_low)),
        sum_high(Vec::all(e.sum_high)),
        zero(Ints::all(e.zero)),
        shift(Ints::all(e.shift)),
        residual_less(Ints::all(e.residual_less)),
        sum_zero(Ints::all(e.sum_zero)),
        divides(e.divides) {}

  // q less its zero point.
  TSR_INLINE Ints quantized(Ints sums, Vec factors) const {
    return to_int(bounded(to_float(sums) * factors, low, high));
  }
  // As two DequantizeLinear, an Add and a QuantizeLinear: every product rounded before it is added.
  TSR_INLINE Ints added(Ints q, Ints residual) const {
    const Vec a = settled(to_float(q + shift) * scale),
              b = settled(to_float(residual + residual_less) * residual_scale);
    const Vec quotient = divides ? (a + b) / sum_scale : divided(a + b, sum_scale, reciprocal);
    return to_int(bounded(quotient, sum_low, sum_high)) + sum_zero;
  }
};

#if defined(TSR_AVX512)
// Results of sums whose products with their factors are within int32: bounds may wait until 32 of them are in one
// vector of int16, which saturates.
struct WordFinisher {
  __m512i zero, low, high, order;

  explicit TSR_INLINE WordFinisher(const IntegerEpilogue& e)
      : zero(_mm512_set1_epi16(static_cast<short>(e.zero))),
        low(_mm512_set1_epi16(static_cast<short>(e.low + static_cast<float>(e.zero)))),
        high(_mm512_set1_epi16(static_cast<short>(e.high + static_cast<float>(e.zero)))),
        order(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7)) {}

  // Two vectors within 16-byte lanes: four of the first, four of the second.
  TSR_INLINE __m512i words(Ints a, Ints b) const {
    const __m512i q = _mm512_adds_epi16(_mm512_packs_epi32(a.v, b.v), zero);
    return _mm512_min_epi16(_mm512_max_epi16(q, low), high);
  }
  TSR_INLINE void store(Ints a, Ints b, std::byte* y) const {
    const __m256i bytes = _mm512_cvtepi16_epi8(_mm512_permutexvar_epi64(order, words(a, b)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), bytes);
  }
};
#endif

// One row of n sums.
template <bool kAdds, bool kSign>
TSR_INLINE void finish_row(const Finisher& f, const std::int32_t* sums, const float* factors, std::ptrdiff_t n,
                           const std::byte* residual, std::byte* y) {
  constexpr std::ptrdiff_t kWidth = Ints::kWidth;
  std::ptrdiff_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Ints q = f.quantized(Ints::load(sums + i), Vec::load(factors + i));
    if constexpr (kAdds)
      f.added(q, Ints::load_bytes<kSign>(residual + i)).store_bytes(y + i);
    else
      (q + f.zero).store_bytes(y + i);
  }
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    const Ints q = f.quantized(Ints::load(sums + i), Vec::load(factors + i));
    if constexpr (kAdds)
      f.added(q, Ints::load_bytes<kSign>(residual + i, rest)).store_bytes(y + i, rest);
    else
      (q + f.zero).store_bytes(y + i, rest);
  }
}

}  // namespace
}  // namespace tessera::cpu::TSR_ISA
