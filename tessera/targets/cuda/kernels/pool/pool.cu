// Maximum and average over windows and over whole images, channels last. Bound by memory.

#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/pool/pool_arguments.h"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

// One thread for each pack of each result. kWindow: that many rows and columns, all loads of a window in flight at
// once; 0: as the arguments say.
template <class T, int kCount, int kWindow>
__device__ __forceinline__ void pool(const T* x, T* y, const PoolArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const std::int64_t count = static_cast<std::int64_t>(a.n) * a.oh * a.ow * a.packs;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int pack = static_cast<int>(i % a.packs);
  const std::int64_t pixel = i / a.packs;
  const int ox = static_cast<int>(pixel % a.ow), oy = static_cast<int>(pixel / a.ow % a.oh);
  const int image = static_cast<int>(pixel / a.ow / a.oh);
  const T* const from = x + static_cast<std::int64_t>(image) * a.h * a.w * a.x_pixel + pack * kCount;
  float result[kCount];
#pragma unroll
  for (int k = 0; k < kCount; ++k) result[k] = a.average ? 0.0f : -INFINITY;
  int taps = 0;
  if constexpr (kWindow > 0) {
    Pack<T, kCount> seen[kWindow * kWindow];
    bool inside[kWindow * kWindow];
#pragma unroll
    for (int tap = 0; tap < kWindow * kWindow; ++tap) {
      const int row = oy * a.stride_h - a.pad_top + tap / kWindow,
                column = ox * a.stride_w - a.pad_left + tap % kWindow;
      inside[tap] = row >= 0 && row < a.h && column >= 0 && column < a.w;
      if (inside[tap]) seen[tap] = load<T, kCount>(from + (static_cast<std::int64_t>(row) * a.w + column) * a.x_pixel);
    }
#pragma unroll
    for (int tap = 0; tap < kWindow * kWindow; ++tap) {
      if (!inside[tap]) continue;
#pragma unroll
      for (int k = 0; k < kCount; ++k) result[k] = larger(result[k], widened(seen[tap].values[k]));
    }
  } else {
    for (int ky = 0; ky < a.kh; ++ky) {
      const int row = oy * a.stride_h - a.pad_top + ky * a.dilation_h;
      for (int kx = 0; kx < a.kw; ++kx) {
        const int column = ox * a.stride_w - a.pad_left + kx * a.dilation_w;
        const bool inside = row >= 0 && row < a.h && column >= 0 && column < a.w;
        if (a.counts_border && row < a.h + a.pad_bottom && column < a.w + a.pad_right)
          ++taps;
        else if (inside)
          ++taps;
        if (!inside) continue;
        float value[kCount];
        widen(load<T, kCount>(from + (static_cast<std::int64_t>(row) * a.w + column) * a.x_pixel), value);
#pragma unroll
        for (int k = 0; k < kCount; ++k) result[k] = a.average ? result[k] + value[k] : larger(result[k], value[k]);
      }
    }
    if (a.average) {
      const float scale = taps > 0 ? 1.0f / static_cast<float>(taps) : 0.0f;
#pragma unroll
      for (int k = 0; k < kCount; ++k) result[k] *= scale;
    }
  }
  store(y + pixel * a.y_pixel + pack * kCount, round<T>(result));
}

// A cluster for each image and 8 packs: its blocks share the pixels, and the first adds up what each of them found, in
// the same order always.
template <class T, int kCount>
__device__ __forceinline__ void global_pool(const T* x, T* y, const GlobalPoolArguments& a) {
  constexpr int kPacks = kGlobalPoolPacks, kLanes = kGlobalPoolThreads / kPacks;
  __shared__ float partial[kLanes][kPacks][kCount];
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int groups = (a.packs + kPacks - 1) / kPacks, part = blockIdx.x % a.parts, item = blockIdx.x / a.parts;
  const int image = item / groups, column = threadIdx.x % kPacks, lane = threadIdx.x / kPacks;
  const int pack = item % groups * kPacks + column;
  float result[kCount];
#pragma unroll
  for (int k = 0; k < kCount; ++k) result[k] = a.average ? 0.0f : -INFINITY;
  if (pack < a.packs) {
    const T* const from = x + static_cast<std::int64_t>(image) * a.pixels * a.x_pixel + pack * kCount;
    constexpr int kAhead = 8;  // loads in flight
    const int step = kLanes * a.parts;
    for (int first = part * kLanes + lane; first < a.pixels; first += kAhead * step) {
      Pack<T, kCount> seen[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i)
        if (const int pixel = first + i * step; pixel < a.pixels)
          seen[i] = load<T, kCount>(from + static_cast<std::int64_t>(pixel) * a.x_pixel);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (first + i * step >= a.pixels) break;
        float value[kCount];
        widen(seen[i], value);
#pragma unroll
        for (int k = 0; k < kCount; ++k) result[k] = a.average ? result[k] + value[k] : larger(result[k], value[k]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) partial[lane][column][k] = result[k];
  for (int half = kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane >= half) continue;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float other = partial[lane + half][column][k];
      float& own = partial[lane][column][k];
      own = a.average ? own + other : larger(own, other);
    }
  }
  if (a.parts > 1) ptx::cluster_sync();
  if (part == 0 && lane == 0 && pack < a.packs) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) result[k] = partial[0][column][k];
    for (int other = 1; other < a.parts; ++other) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        const float more = ptx::load_float_from_block(ptx::shared_address(&partial[0][column][k]), other);
        result[k] = a.average ? result[k] + more : larger(result[k], more);
      }
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) result[k] *= a.average ? 1.0f / static_cast<float>(a.pixels) : 1.0f;
    store(y + (static_cast<std::int64_t>(image) * a.packs + pack) * kCount, round<T>(result));
  }
  if (a.parts > 1) ptx::cluster_sync();  // the first block has read what the others found
}

}  // namespace tessera::cuda

#define TSR_POOL_OF(NAME, T, COUNT)                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                        \
      pool_##NAME(const T* x, T* y, const __grid_constant__ tessera::cuda::PoolArguments a) {              \
    tessera::cuda::pool<T, COUNT, 0>(x, y, a);                                                             \
  }                                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                        \
      max_pool_2x2_##NAME(const T* x, T* y, const __grid_constant__ tessera::cuda::PoolArguments a) {      \
    tessera::cuda::pool<T, COUNT, 2>(x, y, a);                                                             \
  }                                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                        \
      max_pool_3x3_##NAME(const T* x, T* y, const __grid_constant__ tessera::cuda::PoolArguments a) {      \
    tessera::cuda::pool<T, COUNT, 3>(x, y, a);                                                             \
  }                                                                                                        \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kGlobalPoolThreads)                          \
      global_pool_##NAME(const T* x, T* y, const __grid_constant__ tessera::cuda::GlobalPoolArguments a) { \
    tessera::cuda::global_pool<T, COUNT>(x, y, a);                                                         \
  }
#define TSR_POOL(NAME, T) \
  TSR_POOL_OF(NAME, T, 1) \
  TSR_POOL_OF(NAME##_wide, T, tessera::cuda::kWide<T>)
TSR_POOL(f16, __half)
TSR_POOL(bf16, __nv_bfloat16)
TSR_POOL(f32, float)
