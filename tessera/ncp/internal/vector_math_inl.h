// Vectors of TSR_NCP_LANES floats and functions of them, for one instruction set. Everything has internal linkage, so
// that code for one set never stands in for another's.

#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tessera::ncp {
namespace {

constexpr int kLanes = TSR_NCP_LANES;

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef std::int32_t IntVec __attribute__((vector_size(4 * kLanes)));

inline Vec load(const float* from) {
  Vec v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void save(float* to, Vec v) { std::memcpy(to, &v, sizeof v); }
inline Vec all(float x) { return x - Vec{}; }  // 0 + x would be an addition, since it turns -0 into 0

// n / d for d from 2^-126 to 2^127: where there is a good first guess, two corrections are far faster than a division.
inline Vec divide(Vec n, Vec d) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    Vec r = (Vec)_mm512_rcp14_ps((__m512)d);
    r = r * (all(2) - d * r);
    const Vec q = n * r;
    return q + r * (n - q * d);
  }
#endif
  return n / d;
}

// x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) - 1 by Taylor's series, whose rest is below 1e-8. NaN stays NaN.
struct Parts {
  Vec power;      // 2^n
  Vec remainder;  // exp(r) - 1
};
inline Parts split_exp(Vec x) {
  const Vec magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  const Vec shifted = x * all(1.44269504f) + magic;
  const Vec n = shifted - magic;
  Vec r = x - n * all(0.693359375f);
  r = r + n * all(2.12194440e-4f);
  Vec p = all(1.0f / 5040);
  p = p * r + all(1.0f / 720);
  p = p * r + all(1.0f / 120);
  p = p * r + all(1.0f / 24);
  p = p * r + all(1.0f / 6);
  p = p * r + all(0.5f);
  p = p * r * r + r;
  IntVec bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - 0x4b400000 + 127) << 23;
  Vec power;
  std::memcpy(&power, &bits, sizeof power);
  return {power, p};
}

// NaN stays NaN: of two operands the instructions give the second where one is not a number.
inline Vec clamp(Vec x, float low, float high) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16)
    return (Vec)_mm512_min_ps(_mm512_set1_ps(high), _mm512_max_ps(_mm512_set1_ps(low), (__m512)x));
#elif defined(__AVX2__)
  if constexpr (kLanes == 8)
    return (Vec)_mm256_min_ps(_mm256_set1_ps(high), _mm256_max_ps(_mm256_set1_ps(low), (__m256)x));
#endif
  x = x < all(low) ? all(low) : x;
  return x > all(high) ? all(high) : x;
}

inline Vec vexp(Vec x) {
  const Parts parts = split_exp(clamp(x, -87.0f, 88.0f));
  return parts.power + parts.power * parts.remainder;
}
inline Vec vsigmoid(Vec x) { return divide(all(1), all(1) + vexp(-x)); }
// By exp(2x) - 1, which keeps small results exact. Beyond 9 tanh is 1 in float.
inline Vec vtanh(Vec x) {
  const Parts parts = split_exp(all(2) * clamp(x, -9.02f, 9.02f));
  const Vec less_one = parts.power * parts.remainder + (parts.power - all(1));
  return divide(less_one, less_one + all(2));
}

inline Vec vabs(Vec x) { return x < Vec{} ? -x : x; }

struct NormalTail {
  Vec bell;  // exp(-x x / 2)
  Vec tail;  // of the normal distribution beyond |x|
};

// Abramowitz and Stegun's formula 7.1.26: off by at most 1.5e-7.
inline NormalTail vnormal(Vec x) {
  const Vec z = vabs(x) * all(0.70710678f);
  const Vec t = divide(all(1), all(1) + all(0.3275911f) * z);
  Vec p = all(1.061405429f);
  p = p * t + all(-1.453152027f);
  p = p * t + all(1.421413741f);
  p = p * t + all(-0.284496736f);
  p = p * t + all(0.254829592f);
  const Vec bell = vexp(-z * z);
  return {bell, all(0.5f) * p * t * bell};
}

// x (1 + erf(x / sqrt 2)) / 2, off by at most 1.5e-7 times |x|.
inline Vec vgelu(Vec x) {
  const Vec tail = vnormal(x).tail;
  return x < Vec{} ? x * tail : x - x * tail;
}

// The normal distribution up to x, plus x times its density.
inline Vec vgelu_slope(Vec x) {
  const NormalTail n = vnormal(x);
  return (x < Vec{} ? n.tail : all(1) - n.tail) + x * all(0.39894228f) * n.bell;
}

inline Vec select(IntVec where, Vec yes, Vec no) {
  IntVec a, b;
  std::memcpy(&a, &yes, sizeof a);
  std::memcpy(&b, &no, sizeof b);
  a = (a & where) | (b & ~where);
  std::memcpy(&yes, &a, sizeof a);
  return yes;
}

// To the nearest number with `dropped` bits less, ties to even; the exponent's range stays.
inline Vec shortened(Vec x, int dropped) {
  IntVec bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + ((1 << (dropped - 1)) - 1) + ((bits >> dropped) & 1)) & ~((1 << dropped) - 1);
  Vec out;
  std::memcpy(&out, &bits, sizeof out);
  return select(x == x, out, x);  // NaN could become an infinity
}
inline Vec to_bfloat16(Vec x) { return shortened(x, 16); }
inline Vec to_float16(Vec x) {
  const Vec normal = shortened(x, 13);
  const Vec size = x < Vec{} ? -x : x;
  const Vec small = (x + all(0.75f)) - all(0.75f);  // to multiples of 2^-24
  const Vec infinite = x < Vec{} ? all(-__builtin_inff()) : all(__builtin_inff());
  const Vec finite = size < all(0x1p-14f) ? small : normal;
  return size >= all(65520.0f) ? infinite : finite;
}

// 1 / (1 + 2^y): a sigmoid whose argument was scaled by -1 / ln 2 beforehand.
inline Vec vsigmoid_exp2(Vec y) {
  y = clamp(y, -126.0f, 126.0f);
  const Vec magic = all(12582912.0f);
  const Vec shifted = y + magic;
  const Vec r = y - (shifted - magic);
  Vec p = all(1.52527338e-5f);  // (ln 2)^k / k!
  p = p * r + all(1.54035304e-4f);
  p = p * r + all(1.33335581e-3f);
  p = p * r + all(9.61812911e-3f);
  p = p * r + all(5.55041087e-2f);
  p = p * r + all(2.40226507e-1f);
  p = p * r + all(6.93147181e-1f);
  p = p * r + all(1.0f);
  IntVec bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - 0x4b400000 + 127) << 23;
  Vec power;
  std::memcpy(&power, &bits, sizeof power);
  return divide(all(1), all(1) + power * p);
}

}  // namespace
}  // namespace tessera::ncp
