#pragma once

// CUDA C++ for a compiler that knows C++ alone: included before every kernel that runs on the processor.

#include "tests/targets/cuda/processor/kernels.h"
#include "tests/targets/cuda/processor/machine.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ thread_local

#define threadIdx ::tessera::cuda::processor::thread_index()
#define blockIdx ::tessera::cuda::processor::block_index()
#define blockDim ::tessera::cuda::processor::block_size()
#define gridDim ::tessera::cuda::processor::grid_size()

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline void __syncthreads() { tessera::cuda::processor::sync_block(); }
inline void __syncwarp() { tessera::cuda::processor::sync_warp(); }

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  tessera::cuda::processor::Given own{};
  std::memcpy(own.words, &value, sizeof value);
  T got;
  std::memcpy(&got, tessera::cuda::processor::exchange(own)[lane % 32].words, sizeof got);
  return got;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int change) {
  return __shfl_sync(mask, value, static_cast<int>(threadIdx.x % 32) ^ change);
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
using std::isinf;
using std::isnan;

struct __half {
  std::uint16_t bits;
};
struct alignas(4) __half2 {
  __half x, y;
};
struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
inline float __half2float(__half x) { return tessera::cuda::processor::float_of_half(x.bits); }
inline float __bfloat162float(__nv_bfloat16 x) { return tessera::cuda::processor::float_of_bfloat(x.bits); }
inline __half __float2half_rn(float x) { return {tessera::cuda::processor::half_of_float(x)}; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {tessera::cuda::processor::bfloat_of_float(x)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline float2 __half22float2(__half2 x) { return {__half2float(x.x), __half2float(x.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 x) { return {__bfloat162float(x.x), __bfloat162float(x.y)}; }
inline float larger_or_nan(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
inline __half2 __hmax2_nan(__half2 a, __half2 b) {
  return __floats2half2_rn(larger_or_nan(__half2float(a.x), __half2float(b.x)),
                           larger_or_nan(__half2float(a.y), __half2float(b.y)));
}
inline __nv_bfloat162 __hmax2_nan(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __floats2bfloat162_rn(larger_or_nan(__bfloat162float(a.x), __bfloat162float(b.x)),
                               larger_or_nan(__bfloat162float(a.y), __bfloat162float(b.y)));
}
