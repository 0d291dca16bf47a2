// Softmax and layer normalisation of rows whose elements lie side by side. One block for each row; the row is read
// from the cache again for each pass over it.

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

}  // namespace tessera::cuda

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
