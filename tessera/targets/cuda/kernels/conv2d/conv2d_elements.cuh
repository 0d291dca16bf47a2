#pragma once

// The end of a convolution's sum, the same in every kernel: bias, residual, activation, rounding, largest of a window.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tessera::cuda {

// Unlike fminf and fmaxf these keep NaN.
__device__ __forceinline__ float bounded(float x, float lower, float upper) {
  asm("max.NaN.f32 %0, %0, %1;\nmin.NaN.f32 %0, %0, %2;" : "+f"(x) : "f"(lower), "f"(upper));
  return x;
}
__device__ __forceinline__ float silu(float x) { return x / (1.0f + __expf(-x)); }

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
