#pragma once

// Functions over Vec (simd.h). The bounds are against the exact value, in units of the last place, over all floats
// unless said otherwise; tests check them.

#include "tessera/backends/cpu/internal/simd.h"

namespace tessera::cpu::TSR_ISA {

// e^x, within 2 ulp; 0 and infinity beyond the range of float; NaN stays NaN.
TSR_INLINE Vec exp(Vec x) {
  // Beyond these, the result has left the range on either side.
  const Vec clamped = max_second(Vec::all(-104.0f), min_second(Vec::all(89.0f), x));
  const Vec n = round(clamped * Vec::all(1.44269504088896341f));
  // x - n ln 2, with ln 2 in two parts so that the product is exact.
  Vec r = fnma(n, Vec::all(0.693145751953125f), clamped);
  r = fnma(n, Vec::all(1.42860682030941723212e-6f), r);
  Vec p = Vec::all(1.9875691500e-4f);
  p = fma(p, r, Vec::all(1.3981999507e-3f));
  p = fma(p, r, Vec::all(8.3334519073e-3f));
  p = fma(p, r, Vec::all(4.1665795894e-2f));
  p = fma(p, r, Vec::all(1.6666665459e-1f));
  p = fma(p, r, Vec::all(5.0000001201e-1f));
  p = fma(p, r * r, r) + Vec::all(1.0f);
  return scale_by_power_of_two(p, n);
}

// 1 / (1 + e^-x), within 4 ulp.
TSR_INLINE Vec sigmoid(Vec x) { return Vec::all(1.0f) / (Vec::all(1.0f) + exp(Vec::zero() - x)); }

// Rectifies and clips pass NaN on.
TSR_INLINE Vec relu(Vec x) { return max_second(Vec::zero(), x); }
TSR_INLINE Vec clip(Vec x, Vec low, Vec high) { return min_second(high, max_second(low, x)); }

}  // namespace tessera::cpu::TSR_ISA
