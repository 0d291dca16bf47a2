// A matrix product of one to four rows: y = activation(x w^T + bias + residual). Bound by reading the weights once. A
// warp sums up one column: its lanes take 16 bytes of the depth in turn. Weights lie as column, depth.

#include "tessera/targets/cuda/kernels/gemv/gemv_arguments.h"
#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

// Weights are read once.
template <class T>
__device__ __forceinline__ Pack<T, kWide<T>> stream(const T* from) {
  return ptx::load_streaming<Pack<T, kWide<T>>>(from);
}

template <class T, int kRows>
__device__ __forceinline__ void gemv(const T* x, const T* weights, const float* bias, const T* residual, T* y,
                                     const GemvArguments& a) {
  constexpr int kCount = kWide<T>, kStep = 32 * kCount, kAhead = 4;
  const int lane = threadIdx.x % 32, column = blockIdx.x * kGemvWarps + threadIdx.x / 32;
  ptx::launch_dependents();
  const T* const from = weights + static_cast<std::int64_t>(column) * a.depth;
  // Weights do not depend on the kernel before this one: the first of them are asked for at once.
  Pack<T, kCount> ahead[kAhead] = {};
  if (column < a.columns) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      if (const int k = i * kStep + lane * kCount; k < a.depth) ahead[i] = stream(from + k);
  }
  ptx::wait_for_previous_kernel();
  if (column >= a.columns) return;
  float sums[kRows] = {};
  for (int k0 = lane * kCount; k0 < a.depth; k0 += kAhead * kStep) {
    Pack<T, kCount> now[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      now[i] = ahead[i];
      const int next = k0 + (kAhead + i) * kStep;
      if (next < a.depth) ahead[i] = stream(from + next);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int k = k0 + i * kStep;
      if (k >= a.depth) break;
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        const Pack<T, kCount> values = load<T, kCount>(x + static_cast<std::int64_t>(row) * a.depth + k);
#pragma unroll
        for (int j = 0; j < kCount; ++j)
          sums[row] = fmaf(widened(values.values[j]), widened(now[i].values[j]), sums[row]);
      }
    }
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float sum = sums[row];
#pragma unroll
    for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
    const std::int64_t at = static_cast<std::int64_t>(row) * a.columns + column;
    if (lane == 0) {
      sum += bias[column];
      if (residual) sum += widened(residual[at]);
      y[at] = rounded<T>(activated(sum, a.activation));
    }
  }
}

}  // namespace tessera::cuda

#define TSR_GEMV_OF(NAME, T, ROWS)                                                                   \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kGemvWarps * 32)                       \
      gemv_##NAME##_##ROWS(const T* x, const T* weights, const float* bias, const T* residual, T* y, \
                           const __grid_constant__ tessera::cuda::GemvArguments a) {                 \
    tessera::cuda::gemv<T, ROWS>(x, weights, bias, residual, y, a);                                  \
  }
#define TSR_GEMV(NAME, T) \
  TSR_GEMV_OF(NAME, T, 1) TSR_GEMV_OF(NAME, T, 2) TSR_GEMV_OF(NAME, T, 3) TSR_GEMV_OF(NAME, T, 4)
TSR_GEMV(f16, __half)
TSR_GEMV(bf16, __nv_bfloat16)
TSR_GEMV(f32, float)
