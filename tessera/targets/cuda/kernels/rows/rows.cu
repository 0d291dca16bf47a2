// Softmax and layer normalisation of rows whose elements lie side by side. One block for each row, which is read from
// the cache again for each pass over it; rows of whole 16 bytes that the registers of a warp hold are normalised by a
// warp each and read once.

#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"
#include "tessera/targets/cuda/kernels/rows/rows_arguments.h"

namespace tessera::cuda {

inline constexpr int kRowThreads = 256;

// Over all threads of the block; every one gets the result.
template <class Combine>
__device__ __forceinline__ float over_block(float value, Combine combine) {
  __shared__ float parts[kRowThreads / 32];
#pragma unroll
  for (int half = 16; half > 0; half /= 2) value = combine(value, __shfl_xor_sync(~0u, value, half));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float all = parts[0];
#pragma unroll
  for (int i = 1; i < kRowThreads / 32; ++i) all = combine(all, parts[i]);
  return all;
}
__device__ __forceinline__ float block_sum(float value) {
  return over_block(value, [](float a, float b) { return a + b; });
}

template <class T>
__device__ __forceinline__ void softmax(const T* x, T* y, const RowsArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  x += static_cast<std::int64_t>(blockIdx.x) * a.length;
  y += static_cast<std::int64_t>(blockIdx.x) * a.length;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < a.length; i += kRowThreads) most = larger(most, widened(x[i]));
  most = over_block(most, [](float p, float q) { return larger(p, q); });
  float sum = 0;
  for (int i = threadIdx.x; i < a.length; i += kRowThreads) sum += expf(widened(x[i]) - most);
  sum = block_sum(sum);
  const float log_sum = logf(sum), scale = 1 / sum;
  for (int i = threadIdx.x; i < a.length; i += kRowThreads) {
    const float shifted = widened(x[i]) - most;
    y[i] = rounded<T>(a.log ? shifted - log_sum : expf(shifted) * scale);
  }
}

// bias: null where there is none.
template <class T>
__device__ __forceinline__ void layer_norm(const T* x, const T* scale, const T* bias, T* y, const RowsArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  x += static_cast<std::int64_t>(blockIdx.x) * a.length;
  y += static_cast<std::int64_t>(blockIdx.x) * a.length;
  float sum = 0;
  for (int i = threadIdx.x; i < a.length; i += kRowThreads) sum += widened(x[i]);
  const float mean = block_sum(sum) / static_cast<float>(a.length);
  float squares = 0;
  for (int i = threadIdx.x; i < a.length; i += kRowThreads) {
    const float off = widened(x[i]) - mean;
    squares = fmaf(off, off, squares);
  }
  const float variance = block_sum(squares) / static_cast<float>(a.length);
  const float factor = 1 / sqrtf(variance + a.epsilon);
  for (int i = threadIdx.x; i < a.length; i += kRowThreads) {
    const float value = (widened(x[i]) - mean) * factor * widened(scale[i]);
    y[i] = rounded<T>(bias ? value + widened(bias[i]) : value);
  }
}

// kPacks: of 16 bytes that each lane holds. kLanes: that share a row.
template <class T, int kPacks, int kLanes>
__device__ __forceinline__ void layer_norm_warp(const T* x, const T* scale, const T* bias, T* y,
                                                const RowsArguments& a) {
  constexpr int kCount = kWide<T>;
  const int lane = threadIdx.x % kLanes;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const bool there = row < a.rows;  // all lanes of a warp exchange sums, whether they have a row or not
  x += (there ? row : 0) * a.length;
  y += (there ? row : 0) * a.length;
  float values[kPacks][kCount];
  float sum = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kLanes + lane) * kCount;
    Pack<T, kCount> pack = {};
    if (at < a.length) pack = load<T, kCount>(x + at);
    widen(pack, values[p]);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += values[p][i];
  }
#pragma unroll
  for (int half = kLanes / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  const float mean = sum / static_cast<float>(a.length);
  float squares = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p)
    if ((p * kLanes + lane) * kCount < a.length) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[p][i] -= mean;
        squares = fmaf(values[p][i], values[p][i], squares);
      }
    }
#pragma unroll
  for (int half = kLanes / 2; half > 0; half /= 2) squares += __shfl_xor_sync(~0u, squares, half);
  if (!there) return;
  const float factor = 1 / sqrtf(squares / static_cast<float>(a.length) + a.epsilon);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = (p * kLanes + lane) * kCount;
    if (at >= a.length) continue;
    float scales[kCount], biases[kCount] = {};
    widen(load<T, kCount>(scale + at), scales);
    if (bias != nullptr) widen(load<T, kCount>(bias + at), biases);
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[p][i] = fmaf(values[p][i] * factor, scales[i], biases[i]);
    store(y + at, round<T>(values[p]));
  }
}

}  // namespace tessera::cuda

#define TSR_LAYER_NORM_WARP(NAME, T, PACKS, LANES)                                                                 \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kWarpThreads) layer_norm_##NAME##_##PACKS##x##LANES( \
      const T* x, const T* scale, const T* bias, T* y, const __grid_constant__ tessera::cuda::RowsArguments a) {   \
    tessera::cuda::layer_norm_warp<T, PACKS, LANES>(x, scale, bias, y, a);                                         \
  }
#define TSR_LAYER_NORM_WARPS(NAME, T) \
  TSR_LAYER_NORM_WARP(NAME, T, 1, 8)  \
  TSR_LAYER_NORM_WARP(NAME, T, 1, 16) \
  TSR_LAYER_NORM_WARP(NAME, T, 1, 32) TSR_LAYER_NORM_WARP(NAME, T, 2, 32) TSR_LAYER_NORM_WARP(NAME, T, 4, 32)
TSR_LAYER_NORM_WARPS(f16, __half)
TSR_LAYER_NORM_WARPS(bf16, __nv_bfloat16)
TSR_LAYER_NORM_WARPS(f32, float)

#define TSR_ROWS(NAME, T)                                                                                        \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kRowThreads)                                       \
      softmax_##NAME(const T* x, T* y, const __grid_constant__ tessera::cuda::RowsArguments a) {                 \
    tessera::cuda::softmax(x, y, a);                                                                             \
  }                                                                                                              \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kRowThreads) layer_norm_##NAME(                    \
      const T* x, const T* scale, const T* bias, T* y, const __grid_constant__ tessera::cuda::RowsArguments a) { \
    tessera::cuda::layer_norm(x, scale, bias, y, a);                                                             \
  }
TSR_ROWS(f16, __half)
TSR_ROWS(bf16, __nv_bfloat16)
TSR_ROWS(f32, float)
