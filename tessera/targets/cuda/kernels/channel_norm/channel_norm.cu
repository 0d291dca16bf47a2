// Normalisation of groups of channels of an image (GroupNorm, InstanceNorm), or with a mean and a variance of each
// channel that are known (BatchNorm); channels last.
//
// Where they are not known there are two kernels. The first finds for each channel the mean and the squares about it,
// in two passes over the channel: no sum of squares that cancels. The second puts the channels of a group together,
// again about their common mean, and writes. Sums are float32, in an order that depends on the shape alone.

#include "tessera/targets/cuda/kernels/channel_norm/channel_norm_arguments.h"
#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

inline constexpr int kNormLanes = kNormThreads / kNormPacks;

// Of each channel of a block's packs, over the pixels of all blocks of the cluster. Every thread of a pack gets them.
template <int kCount>
__device__ __forceinline__ void over_cluster(float (&sums)[kCount], float (&partial)[kNormLanes][kNormPacks][kCount],
                                             float (&whole)[kNormPacks][kCount], int parts) {
  const int column = threadIdx.x % kNormPacks, lane = threadIdx.x / kNormPacks;
#pragma unroll
  for (int k = 0; k < kCount; ++k) partial[lane][column][k] = sums[k];
  for (int half = kNormLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane >= half) continue;
#pragma unroll
    for (int k = 0; k < kCount; ++k) partial[lane][column][k] += partial[lane + half][column][k];
  }
  if (parts > 1)
    ptx::cluster_sync();
  else
    __syncthreads();
  if (lane == 0) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      float sum = 0;
      for (int part = 0; part < parts; ++part)
        sum += parts > 1 ? ptx::load_float_from_block(ptx::shared_address(&partial[0][column][k]), part)
                         : partial[0][column][k];
      whole[column][k] = sum;
    }
  }
  if (parts > 1)
    ptx::cluster_sync();  // peers have read what is here
  else
    __syncthreads();
#pragma unroll
  for (int k = 0; k < kCount; ++k) sums[k] = whole[column][k];
}

// statistics: of each image and channel the mean and the squares about it.
template <class T, int kCount>
__device__ __forceinline__ void channel_statistics(const T* x, float2* statistics, const ChannelNormArguments& a) {
  __shared__ float partial[kNormLanes][kNormPacks][kCount];
  __shared__ float whole[kNormPacks][kCount];
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int groups = (a.packs + kNormPacks - 1) / kNormPacks, part = blockIdx.x % a.parts, item = blockIdx.x / a.parts;
  const int image = item / groups, lane = threadIdx.x / kNormPacks;
  const int pack = item % groups * kNormPacks + threadIdx.x % kNormPacks;
  const T* const from = x + static_cast<std::int64_t>(image) * a.pixels * a.x_pixel + pack * kCount;
  const int step = kNormLanes * a.parts, first = pack < a.packs ? part * kNormLanes + lane : a.pixels;
  float mean[kCount] = {}, squares[kCount] = {};
#pragma unroll 4
  for (int pixel = first; pixel < a.pixels; pixel += step) {
    float value[kCount];
    widen(load<T, kCount>(from + static_cast<std::int64_t>(pixel) * a.x_pixel), value);
#pragma unroll
    for (int k = 0; k < kCount; ++k) mean[k] += value[k];
  }
  over_cluster(mean, partial, whole, a.parts);
#pragma unroll
  for (int k = 0; k < kCount; ++k) mean[k] /= static_cast<float>(a.pixels);
#pragma unroll 4
  for (int pixel = first; pixel < a.pixels; pixel += step) {
    float value[kCount];
    widen(load<T, kCount>(from + static_cast<std::int64_t>(pixel) * a.x_pixel), value);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float off = value[k] - mean[k];
      squares[k] = fmaf(off, off, squares[k]);
    }
  }
  over_cluster(squares, partial, whole, a.parts);
  if (part != 0 || lane != 0 || pack >= a.packs) return;
  float2* const to = statistics + static_cast<std::int64_t>(image) * a.channels + pack * kCount;
#pragma unroll
  for (int k = 0; k < kCount; ++k) to[k] = make_float2(mean[k], squares[k]);
}

// Mean and 1 / deviation of each group of an image, by as many lanes for each as it has channels, up to a warp.
__device__ __forceinline__ void put_together(const float2* statistics, float2* groups, const ChannelNormArguments& a) {
  const int count = a.channels / a.group_channels;
  int lanes = 1;
  while (lanes < 32 && lanes < a.group_channels) lanes *= 2;
  const int lane = threadIdx.x % lanes, turn = blockDim.x / lanes;
  for (int first = 0; first < count; first += turn) {
    const int group = first + static_cast<int>(threadIdx.x) / lanes;
    const bool there = group < count;  // all lanes of a warp exchange sums, whether they have a group or not
    const float2* const from = statistics + (there ? group : 0) * a.group_channels;
    float mean = 0;
    for (int c = lane; c < a.group_channels; c += lanes) mean += from[c].x;
    for (int half = lanes / 2; half > 0; half /= 2) mean += __shfl_xor_sync(~0u, mean, half);
    mean /= static_cast<float>(a.group_channels);
    float squares = 0;
    for (int c = lane; c < a.group_channels; c += lanes) {
      const float2 channel = from[c];
      const float off = channel.x - mean;
      squares += fmaf(off * off, static_cast<float>(a.pixels), channel.y);
    }
    for (int half = lanes / 2; half > 0; half /= 2) squares += __shfl_xor_sync(~0u, squares, half);
    const float elements = static_cast<float>(a.group_channels) * static_cast<float>(a.pixels);
    if (there && lane == 0) groups[group] = make_float2(mean, 1 / sqrtf(squares / elements + a.epsilon));
  }
  __syncthreads();
}

// Threads side by side take packs side by side, and stay with them from pixel to pixel.
template <class T, int kCount>
__device__ __forceinline__ void channel_norm(const T* x, T* y, const float2* statistics, const float* mean,
                                             const float* variance, const float* scale, const float* bias,
                                             const ChannelNormArguments& a) {
  extern __shared__ __align__(16) float2 groups[];
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int image = blockIdx.x / a.chunks, chunk = blockIdx.x % a.chunks;
  if (a.group_channels > 0) put_together(statistics + static_cast<std::int64_t>(image) * a.channels, groups, a);
  const int threads = blockDim.x, columns = a.packs < threads ? a.packs : threads, lanes = threads / columns;
  const int lane = static_cast<int>(threadIdx.x) / columns;
  if (lane >= lanes) return;
  const std::int64_t pixels_before = static_cast<std::int64_t>(image) * a.pixels;
  for (int pack = static_cast<int>(threadIdx.x) % columns; pack < a.packs; pack += columns) {
    float center[kCount], factor[kCount], shift[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const int channel = pack * kCount + k;
      if (a.group_channels > 0) {
        const float2 group = groups[channel / a.group_channels];
        center[k] = group.x, factor[k] = group.y * scale[channel];
      } else {
        center[k] = mean[channel], factor[k] = scale[channel] / sqrtf(variance[channel] + a.epsilon);
      }
      shift[k] = bias[channel];
    }
    const T* const from = x + pixels_before * a.x_pixel + pack * kCount;
    T* const to = y + pixels_before * a.y_pixel + pack * kCount;
#pragma unroll 2
    for (int pixel = chunk * lanes + lane; pixel < a.pixels; pixel += lanes * a.chunks) {
      float value[kCount];
      widen(load<T, kCount>(from + static_cast<std::int64_t>(pixel) * a.x_pixel), value);
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        value[k] = activated(fmaf(value[k] - center[k], factor[k], shift[k]), a.activation);
      store(to + static_cast<std::int64_t>(pixel) * a.y_pixel, round<T>(value));
    }
  }
}

}  // namespace tessera::cuda

#define TSR_CHANNEL_NORM_OF(NAME, T, COUNT)                                                                     \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kNormThreads) channel_statistics_##NAME(          \
      const T* x, float2* statistics, const __grid_constant__ tessera::cuda::ChannelNormArguments a) {          \
    tessera::cuda::channel_statistics<T, COUNT>(x, statistics, a);                                              \
  }                                                                                                             \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kNormThreads) channel_norm_##NAME(                \
      const T* x, T* y, const float2* statistics, const float* mean, const float* variance, const float* scale, \
      const float* bias, const __grid_constant__ tessera::cuda::ChannelNormArguments a) {                       \
    tessera::cuda::channel_norm<T, COUNT>(x, y, statistics, mean, variance, scale, bias, a);                    \
  }
#define TSR_CHANNEL_NORM(NAME, T) \
  TSR_CHANNEL_NORM_OF(NAME, T, 1) \
  TSR_CHANNEL_NORM_OF(NAME##_wide, T, tessera::cuda::kWide<T>)
TSR_CHANNEL_NORM(f16, __half)
TSR_CHANNEL_NORM(bf16, __nv_bfloat16)
TSR_CHANNEL_NORM(f32, float)
