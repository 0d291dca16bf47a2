#pragma once

// What every kernel does with its elements: widens them, applies an activation, rounds, takes the larger.

#include "tessera/targets/cuda/kernels/activation.h"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tessera::cuda {

using ptx::bounded;
using ptx::power_of_2;
using ptx::reciprocal;
inline constexpr float kLog2E = 1.4426950408889634f;
// The exact quotient takes three times as long.
__device__ __forceinline__ float silu(float x) { return x * reciprocal(1.0f + power_of_2(-kLog2E * x)); }

// x times the part of a bell that lies below x, which is erfc(-x / sqrt 2) / 2: by a polynomial in 1 / (1 + 0.3275911
// z) times exp(-z z), which is off by less than 1.5e-7 (Abramowitz and Stegun, 7.1.26). For results of 16 bits.
__device__ __forceinline__ float gelu(float x) {
  const float z = fabsf(x) * 0.70710678f, t = reciprocal(fmaf(0.3275911f, z, 1.0f));
  float p = fmaf(1.061405429f, t, -1.453152027f);
  p = fmaf(p, t, 1.421413741f);
  p = fmaf(p, t, -0.284496736f);
  p = fmaf(p, t, 0.254829592f);
  const float tail = 0.5f * p * t * power_of_2(-kLog2E * z * z);  // beyond |x|
  return x * (x < 0 ? tail : 1.0f - tail);
}

// Curves that are seldom in the inner part of a network: one copy of the code.
static __device__ __noinline__ float curve_of(float x, Curve curve, float alpha, float beta) {
  switch (curve) {
    case Curve::none: return x;
    case Curve::silu: return __fdividef(x, 1.0f + __expf(-(alpha == 0 ? x : alpha * x)));
    case Curve::sigmoid: return __fdividef(1.0f, 1.0f + __expf(-x));
    case Curve::tanh: return tanhf(x);
    case Curve::hard_sigmoid: return bounded(alpha * x + beta, 0, 1);
    case Curve::hard_swish: return x * bounded(x * (1.0f / 6.0f) + 0.5f, 0, 1);
    case Curve::leaky_relu: return x < 0 ? alpha * x : x;
    case Curve::elu: return x > 0 ? x : alpha * expm1f(x);
    case Curve::gelu: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case Curve::gelu_tanh: return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case Curve::softplus: return x > 20 ? x : log1pf(expf(x));
    case Curve::mish: return x * tanhf(x > 20 ? x : log1pf(expf(x)));
    case Curve::abs: return fabsf(x);
    case Curve::erf: return erff(x);
    case Curve::exp: return expf(x);
    case Curve::log: return logf(x);
    case Curve::neg: return -x;
    case Curve::reciprocal: return 1.0f / x;
    case Curve::sqrt: return sqrtf(x);
  }
  return x;
}
__device__ __forceinline__ bool is_plain_silu(const Activation& a) { return a.curve == Curve::silu && a.alpha == 0; }
// The curve without the bounds.
__device__ __forceinline__ float curved(float x, const Activation& a) {
  if (is_plain_silu(a)) return silu(x);
  return a.curve == Curve::none ? x : curve_of(x, a.curve, a.alpha, a.beta);
}
__device__ __forceinline__ float activated(float x, const Activation& a) {
  return bounded(curved(x, a), a.lower, a.upper);
}

// Two neighbours in one register.
template <class T>
struct Pair;

template <>
struct Pair<__half> {
  static __device__ __forceinline__ std::uint32_t round(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
  static __device__ __forceinline__ float2 widen(std::uint32_t bits) {
    return __half22float2(reinterpret_cast<const __half2&>(bits));
  }
  static __device__ __forceinline__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
    const __half2 pair = __hmax2_nan(reinterpret_cast<const __half2&>(a), reinterpret_cast<const __half2&>(b));
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
};

template <>
struct Pair<__nv_bfloat16> {
  static __device__ __forceinline__ std::uint32_t round(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
  static __device__ __forceinline__ float2 widen(std::uint32_t bits) {
    return __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(bits));
  }
  static __device__ __forceinline__ std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
    const __nv_bfloat162 pair =
        __hmax2_nan(reinterpret_cast<const __nv_bfloat162&>(a), reinterpret_cast<const __nv_bfloat162&>(b));
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
};

__device__ __forceinline__ float widened(__half x) { return __half2float(x); }
__device__ __forceinline__ float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float widened(float x) { return x; }
template <class T>
__device__ __forceinline__ T rounded(float x);
template <>
__device__ __forceinline__ __half rounded<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 rounded<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ __forceinline__ float rounded<float>(float x) {
  return x;
}
__device__ __forceinline__ float larger(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }

}  // namespace tessera::cuda
