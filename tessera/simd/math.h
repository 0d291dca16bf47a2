#pragma once

// Functions over Vec (vec.h). The bounds are against the exact value, in units of the last place (of the smallest
// subnormal for what is below the normal numbers), over all floats unless said otherwise; tests check them. NaN gives
// NaN. The polynomials are least-maximum fits of our own, with what they approximate beside them.

#include "tessera/simd/parts.h"
#include "tessera/simd/vec.h"

namespace tessera::simd::TSR_ISA {

// e^x = (1 + minus_one) * 2^n.
struct ExpParts {
  Vec minus_one, n;
};
// For x in [-104, 89].
TSR_INLINE ExpParts exp_parts(Vec x) {
  const Vec n = round(x * Vec::all(1.44269504088896341f));
  // x - n ln 2, with ln 2 in two parts so that the first product is exact even without a fused one.
  Vec r = fnma(n, Vec::all(0.69317626953125f), x);
  r = fnma(n, Vec::all(-2.90889713e-5f), r);
  // (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, to 2^-28 of e^r.
  Vec p = Vec::all(0.00139504892f);
  p = fma(p, r, Vec::all(0.0083688898f));
  p = fma(p, r, Vec::all(0.041666206f));
  p = fma(p, r, Vec::all(0.166665182f));
  p = fma(p, r, Vec::all(0.5f));
  return {fma(p, r * r, r), n};
}

// e^x, within 2 ulp; 0 and infinity beyond the range of float.
TSR_INLINE Vec exp(Vec x) {
  // Beyond these, the result has left the range on either side.
  const ExpParts e = exp_parts(max_second(Vec::all(-104.0f), min_second(Vec::all(89.0f), x)));
  return scale_by_power_of_two(e.minus_one + Vec::all(1.0f), e.n);
}

// e^x - 1, within 3 ulp.
TSR_INLINE Vec expm1(Vec x) {
  // From -20 on the result is -1.
  const ExpParts e = exp_parts(max_second(Vec::all(-20.0f), min_second(Vec::all(89.0f), x)));
  const Vec rest = Vec::all(1.0f) - scale_by_power_of_two(Vec::all(1.0f), Vec::zero() - e.n);
  return scale_by_power_of_two(e.minus_one + rest, e.n);
}

// e^x - 1 for x <= 0: the same, in fewer steps where powers of two take several.
TSR_INLINE Vec expm1_below_zero(Vec x) {
  const ExpParts e = exp_parts(max_second(Vec::all(-20.0f), x));
  const Vec rest = Vec::all(1.0f) - scale_within_normal(Vec::all(1.0f), Vec::zero() - e.n);
  return scale_within_normal(e.minus_one + rest, e.n);
}

// x / (1 + e^-a): sigmoid, silu and what is made of them. The product is taken before it becomes subnormal. Within 4
// ulp of the exact value for this a.
TSR_INLINE Vec gated(Vec x, Vec a) {
  const Vec one = Vec::all(1.0f), low = Vec::all(-110.0f);
  const Vec down = select(a < Vec::zero(), a, Vec::zero() - a);  // -|a|, and NaN
  const ExpParts e = exp_parts(max_second(low, down));
  const Vec p = e.minus_one + one;
  const Vec tail = scale_by_power_of_two(p, e.n);
  // Beyond `low` nothing is left; infinity times that is NaN, as it should be.
  const Vec above = select(a < low, x * Vec::zero(), select(a < Vec::zero(), scale_by_power_of_two(x * p, e.n), x));
  return above / (one + tail);
}

// 1 / (1 + e^-x), within 4 ulp.
TSR_INLINE Vec sigmoid(Vec x) { return gated(Vec::all(1.0f), x); }

// log(1 + f) for f from sqrt(1/2) - 1 to sqrt(2) - 1.
TSR_INLINE Vec log1p_near_zero(Vec f, Vec ln2_times) {
  // (log(1 + f) - f + f^2 / 2) / f^3, to 2^-27 of the logarithm.
  Vec p = Vec::all(-0.0763444155f);
  p = fma(p, f, Vec::all(0.127615675f));
  p = fma(p, f, Vec::all(-0.131601989f));
  p = fma(p, f, Vec::all(0.142017603f));
  p = fma(p, f, Vec::all(-0.166233554f));
  p = fma(p, f, Vec::all(0.200012267f));
  p = fma(p, f, Vec::all(-0.250008225f));
  p = fma(p, f, Vec::all(0.333333313f));
  // Smallest first: ln 2 in two parts, the first exact.
  const Vec square = f * f;
  Vec sum = fma(ln2_times, Vec::all(-2.90889713e-5f), p * square * f);
  sum = fnma(square, Vec::all(0.5f), sum) + f;
  return fma(ln2_times, Vec::all(0.69317626953125f), sum);
}

// The natural logarithm, within 2 ulp; -infinity for zeros, NaN below.
TSR_INLINE Vec log(Vec x) {
  const Vec one = Vec::all(1.0f), infinity = Vec::all(__builtin_inff());
  const Parts parts = parts_of(x);
  const auto high = Vec::all(1.41421356f) < parts.mantissa;
  const Vec m = select(high, parts.mantissa * Vec::all(0.5f), parts.mantissa);
  const Vec e = select(high, parts.exponent + one, parts.exponent);
  Vec y = log1p_near_zero(m - one, e);
  y = select(x == infinity, infinity, y);
  y = select(x == Vec::zero(), Vec::zero() - infinity, y);
  y = select(x < Vec::zero(), Vec::all(__builtin_nanf("")), y);
  return select(is_nan(x), x, y);
}

// log(1 + e^x), within 4 ulp.
TSR_INLINE Vec softplus(Vec x) {
  const Vec one = Vec::all(1.0f);
  const Vec t = exp(Vec::zero() - abs(x));  // in [0, 1]
  // 1 + t beyond sqrt(2) is halved first.
  const auto high = Vec::all(0.41421356f) < t;
  const Vec f = select(high, (t - one) * Vec::all(0.5f), t);
  return max_second(Vec::zero(), x) + log1p_near_zero(f, select(high, one, Vec::zero()));
}

// Within 4 ulp.
TSR_INLINE Vec tanh(Vec x) {
  const Vec t = expm1_below_zero(abs(x) * Vec::all(-2.0f));  // in (-1, 0]
  return copy_sign(t / (t + Vec::all(2.0f)), x);
}

// The error function, within 4 ulp.
TSR_INLINE Vec erf(Vec x) {
  const Vec a = min_second(Vec::all(4.0f), abs(x));  // from 3.92 on it is 1
  // log(1 - erf(a)) / a on [0, 4], such that erf comes out to 2^-27.
  Vec p = Vec::all(9.25634868e-06f);
  p = fma(p, a, Vec::all(-0.000117641976f));
  p = fma(p, a, Vec::all(0.000632839219f));
  p = fma(p, a, Vec::all(-0.00166703155f));
  p = fma(p, a, Vec::all(0.000160399795f));
  p = fma(p, a, Vec::all(0.0191530623f));
  p = fma(p, a, Vec::all(-0.102777831f));
  p = fma(p, a, Vec::all(-0.636619389f));
  p = fma(p, a, Vec::all(-1.12837923f));
  return copy_sign(expm1_below_zero(p * a), x);
}

// x * (1 + erf(x / sqrt 2)) / 2, within 2^-22 |x|: relative to x, as the tail on the left is a small difference.
TSR_INLINE Vec gelu(Vec x) { return x * fma(erf(x * Vec::all(0.707106781f)), Vec::all(0.5f), Vec::all(0.5f)); }

// x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, within 2^-22 |x|.
TSR_INLINE Vec gelu_tanh(Vec x) {
  // (1 + tanh u) / 2 is 1 / (1 + e^-2u).
  return gated(x, x * fma(x * x, Vec::all(0.0713548163f), Vec::all(1.59576912f)));
}

// x * tanh(log(1 + e^x)), within 6 ulp.
TSR_INLINE Vec mish(Vec x) {
  const Vec two = Vec::all(2.0f), low = Vec::all(-110.0f);
  // With t = e^x the tanh is w / (w + 2), w = t (t + 2): 1 from x = 20 on.
  const ExpParts e = exp_parts(max_second(low, min_second(Vec::all(20.0f), x)));
  const Vec p = e.minus_one + Vec::all(1.0f);
  const Vec t = scale_by_power_of_two(p, e.n);
  const Vec w = t * (t + two);
  // Before it becomes subnormal: x p 2^n (t + 2) / (w + 2).
  const Vec small = scale_by_power_of_two(x * p * (t + two) / (w + two), e.n);
  const Vec large = x * (w / (w + two));
  return select(x < Vec::all(-10.0f), select(x < low, x * Vec::zero(), small), large);
}

// Rectifies and clips pass NaN on.
TSR_INLINE Vec relu(Vec x) { return max_second(Vec::zero(), x); }
TSR_INLINE Vec clip(Vec x, Vec low, Vec high) { return min_second(high, max_second(low, x)); }

}  // namespace tessera::simd::TSR_ISA
