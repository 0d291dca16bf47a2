// Sums, means, extremes and norms along any axes. Either the lanes of a warp share one result (what is added up lies
// side by side), or each lane has a result of its own and the warps of a block share it (results lie side by side).
// Sums are float32, in an order that depends on the shape alone.

#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"
#include "tessera/targets/cuda/kernels/reduce/reduce_arguments.h"

#include <cstdint>

namespace tessera::cuda {

constexpr int kReduceWarps = 8;

__device__ __forceinline__ std::int64_t place(std::int64_t index, int rank, const std::uint32_t* sizes,
                                              const std::int64_t* steps) {
  std::int64_t at = 0;
  auto rest = static_cast<std::uint64_t>(index);
  for (int d = rank - 1; d > 0; --d) {
    at += static_cast<std::int64_t>(rest % sizes[d]) * steps[d];
    rest /= sizes[d];
  }
  return rank > 0 ? at + static_cast<std::int64_t>(rest) * steps[0] : 0;
}

__device__ __forceinline__ float first_of(Reduction kind) {
  switch (kind) {
    case Reduction::max:
    case Reduction::log_sum_exp: return -INFINITY;
    case Reduction::min: return INFINITY;
    case Reduction::prod: return 1;
    default: return 0;
  }
}
__device__ __forceinline__ float joined(float a, float b, Reduction kind) {
  switch (kind) {
    case Reduction::max: return larger(a, b);
    case Reduction::min: return -larger(-a, -b);
    case Reduction::prod: return a * b;
    case Reduction::log_sum_exp: {
      const float most = larger(a, b);
      return isinf(most) ? most : most + log1pf(expf(-fabsf(a - b)));
    }
    default: return a + b;
  }
}
__device__ __forceinline__ float entering(float x, Reduction kind) {
  switch (kind) {
    case Reduction::l1: return fabsf(x);
    case Reduction::l2:
    case Reduction::sum_square: return x * x;
    default: return x;
  }
}
__device__ __forceinline__ float leaving(float x, Reduction kind, std::int64_t length) {
  switch (kind) {
    case Reduction::mean: return x / static_cast<float>(length);
    case Reduction::l2: return sqrtf(x);
    case Reduction::log_sum: return logf(x);
    default: return x;
  }
}

template <class T, bool kLanesShare>
__device__ __forceinline__ void reduce(const T* x, T* y, const ReduceArguments& a) {
  __shared__ float parts[kReduceWarps][32];
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t result = kLanesShare ? static_cast<std::int64_t>(blockIdx.x) * kReduceWarps + warp
                                          : static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  const int first = kLanesShare ? lane : warp, step = kLanesShare ? 32 : kReduceWarps;
  float value = first_of(a.kind);
  if (result < a.results) {
    const T* const from = x + place(result, a.kept_rank, a.kept, a.kept_step);
    for (std::int64_t i = first; i < a.length; i += step)
      value = joined(value, entering(widened(from[place(i, a.gone_rank, a.gone, a.gone_step)]), a.kind), a.kind);
  }
  if constexpr (kLanesShare) {
#pragma unroll
    for (int half = 16; half > 0; half /= 2) value = joined(value, __shfl_xor_sync(~0u, value, half), a.kind);
    if (lane == 0 && result < a.results) y[result] = rounded<T>(leaving(value, a.kind, a.length));
  } else {
    parts[warp][lane] = value;
    __syncthreads();
    if (warp != 0 || result >= a.results) return;
#pragma unroll
    for (int other = 1; other < kReduceWarps; ++other) value = joined(value, parts[other][lane], a.kind);
    y[result] = rounded<T>(leaving(value, a.kind, a.length));
  }
}

}  // namespace tessera::cuda

#define TSR_REDUCE(NAME, T)                                                                                 \
  extern "C" __global__ void __launch_bounds__(256)                                                         \
      reduce_##NAME##_rows(const T* x, T* y, const __grid_constant__ tessera::cuda::ReduceArguments a) {    \
    tessera::cuda::reduce<T, true>(x, y, a);                                                                \
  }                                                                                                         \
  extern "C" __global__ void __launch_bounds__(256)                                                         \
      reduce_##NAME##_columns(const T* x, T* y, const __grid_constant__ tessera::cuda::ReduceArguments a) { \
    tessera::cuda::reduce<T, false>(x, y, a);                                                               \
  }
TSR_REDUCE(f16, __half)
TSR_REDUCE(bf16, __nv_bfloat16)
TSR_REDUCE(f32, float)
