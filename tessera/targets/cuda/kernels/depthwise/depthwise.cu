// Depthwise convolution, channels last: every channel has a window of its own. Bound by bytes. A thread computes 16
// bytes of channels for up to four neighbouring results of a row: the columns that their windows share are loaded once
// for each row of the window. Weights lie as kh, kw, c in float32 and stay in the L1 cache.

#include "tessera/targets/cuda/kernels/depthwise/depthwise_arguments.h"
#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

template <int kCount>
__device__ __forceinline__ void read_floats(const float* from, float (&to)[kCount]) {
#pragma unroll
  for (int k = 0; k < kCount; k += 4) {
    const float4 part = __ldg(reinterpret_cast<const float4*>(from + k));
    to[k] = part.x, to[k + 1] = part.y, to[k + 2] = part.z, to[k + 3] = part.w;
  }
}

// kKernel, kStride: both ways, with dilation 1; 0: as the arguments say.
template <class T, int kKernel, int kStride, int kColumns>
__device__ __forceinline__ void depthwise(const T* x, const float* weights, const float* bias, const T* residual, T* y,
                                          const DepthwiseArguments& a) {
  constexpr int kCount = kWide<T>;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int pack = static_cast<int>(i % a.packs);
  const std::int64_t strip_row = i / a.packs;
  const int strip = static_cast<int>(strip_row % a.strips);
  const std::int64_t image_row = strip_row / a.strips;
  const int oy = static_cast<int>(image_row % a.oh), image = static_cast<int>(image_row / a.oh);
  const int channel = pack * kCount, channels = a.packs * kCount, ox = strip * kColumns;
  ptx::launch_dependents();
  float sums[kColumns][kCount];
  if (image < a.n) {
    float first[kCount];
    read_floats(bias + channel, first);
#pragma unroll
    for (int column = 0; column < kColumns; ++column)
#pragma unroll
      for (int k = 0; k < kCount; ++k) sums[column][k] = first[k];
  }
  ptx::wait_for_previous_kernel();
  if (image >= a.n) return;

  const int kh = kKernel ? kKernel : a.kh, kw = kKernel ? kKernel : a.kw;
  const int stride_h = kStride ? kStride : a.stride_h, stride_w = kStride ? kStride : a.stride_w;
  const int dilation_h = kKernel ? 1 : a.dilation_h, dilation_w = kKernel ? 1 : a.dilation_w;
  const int x0 = ox * stride_w - a.pad_left, y0 = oy * stride_h - a.pad_top;
  const T* const from = x + static_cast<std::int64_t>(image) * a.h * a.w * a.x_pixel + channel;
#pragma unroll
  for (int ky = 0; ky < kh; ++ky) {
    const int row = y0 + ky * dilation_h;
    const bool inside = row >= 0 && row < a.h;
    const T* const line = from + static_cast<std::int64_t>(row) * a.w * a.x_pixel;
    const float* const taps = weights + static_cast<std::int64_t>(ky) * kw * channels + channel;
    if constexpr (kKernel > 0) {
      // No branch on the row: loads of the next one need not wait for the sums of this one.
      constexpr int kSeen = (kColumns - 1) * kStride + kKernel;
      Pack<T, kCount> loaded[kSeen] = {};
#pragma unroll
      for (int c = 0; c < kSeen; ++c) {
        const int column = x0 + c;
        if (inside && column >= 0 && column < a.w)
          loaded[c] = load<T, kCount>(line + static_cast<std::int64_t>(column) * a.x_pixel);
      }
#pragma unroll
      for (int kx = 0; kx < kKernel; ++kx) {
        float tap[kCount];
        read_floats(taps + static_cast<std::int64_t>(kx) * channels, tap);
#pragma unroll
        for (int column = 0; column < kColumns; ++column)
#pragma unroll
          for (int k = 0; k < kCount; ++k)
            sums[column][k] = fmaf(widened(loaded[column * kStride + kx].values[k]), tap[k], sums[column][k]);
      }
    } else {
      for (int kx = 0; inside && kx < kw; ++kx) {
        float tap[kCount];
        read_floats(taps + static_cast<std::int64_t>(kx) * channels, tap);
#pragma unroll
        for (int column = 0; column < kColumns; ++column) {
          const int at = x0 + column * stride_w + kx * dilation_w;
          if (at < 0 || at >= a.w) continue;
          const Pack<T, kCount> pixel = load<T, kCount>(line + static_cast<std::int64_t>(at) * a.x_pixel);
#pragma unroll
          for (int k = 0; k < kCount; ++k) sums[column][k] = fmaf(widened(pixel.values[k]), tap[k], sums[column][k]);
        }
      }
    }
  }
#pragma unroll
  for (int column = 0; column < kColumns; ++column) {
    if (ox + column >= a.ow) break;
    const std::int64_t pixel = image_row * a.ow + ox + column;
    float (&sum)[kCount] = sums[column];
    if (residual) {
      float more[kCount];
      widen(load<T, kCount>(residual + pixel * a.residual_pixel + channel), more);
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] += more[k];
    }
    if (is_plain_silu(a.activation)) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] = silu(sum[k]);
    } else if (a.activation.curve != Curve::none) {
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        sum[k] = curve_of(sum[k], a.activation.curve, a.activation.alpha, a.activation.beta);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum[k] = bounded(sum[k], a.activation.lower, a.activation.upper);
    store(y + pixel * a.y_pixel + channel, round<T>(sum));
  }
}

}  // namespace tessera::cuda

#define TSR_DEPTHWISE_OF(NAME, T, KERNEL, STRIDE, COLUMNS)                                           \
  extern "C" __global__ void __launch_bounds__(128)                                                  \
      depthwise_##NAME(const T* x, const float* weights, const float* bias, const T* residual, T* y, \
                       const __grid_constant__ tessera::cuda::DepthwiseArguments a) {                \
    tessera::cuda::depthwise<T, KERNEL, STRIDE, COLUMNS>(x, weights, bias, residual, y, a);          \
  }
#define TSR_DEPTHWISE_BOTH(NAME, T, KERNEL, STRIDE, COLUMNS)                  \
  TSR_DEPTHWISE_OF(NAME, T, KERNEL, STRIDE, tessera::cuda::kColumns##COLUMNS) \
  TSR_DEPTHWISE_OF(NAME##_narrow, T, KERNEL, STRIDE, 1)
#define TSR_DEPTHWISE(NAME, T)                         \
  TSR_DEPTHWISE_BOTH(NAME, T, 0, 0, OfOthers)          \
  TSR_DEPTHWISE_BOTH(NAME##_3x3, T, 3, 1, OfOthers)    \
  TSR_DEPTHWISE_BOTH(NAME##_3x3_s2, T, 3, 2, OfOthers) \
  TSR_DEPTHWISE_BOTH(NAME##_5x5, T, 5, 1, Of5x5)       \
  TSR_DEPTHWISE_BOTH(NAME##_5x5_s2, T, 5, 2, Of5x5)
TSR_DEPTHWISE(f16, __half)
TSR_DEPTHWISE(bf16, __nv_bfloat16)
TSR_DEPTHWISE(f32, float)
