// Depthwise convolution with windows of 5x5 and 7x7: there a pixel is read by so many windows that a tile of them is
// loaded to shared memory first. A block takes 32 channels of 8 columns and some rows of results, a thread two channels
// of one row. Weights lie as kh, kw, c in float32. Channels last, 16-bit elements.

#include "tessera/targets/cuda/kernels/depthwise/depthwise_arguments.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/mma.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

template <class T, int kKernel, int kStride>
__device__ __forceinline__ void depthwise_tiles(const T* x, const float* weights, const float* bias, const T* residual,
                                                T* y, const DepthwiseArguments& a) {
  using Tile = DepthwiseTile<kKernel, kStride>;
  constexpr int kSeen = Tile::kSeen, kPitch = Tile::kPitchBytes;
  extern __shared__ __align__(16) std::uint8_t shared[];
  float2* const taps = reinterpret_cast<float2*>(shared);  // of 16 pairs of channels
  std::uint8_t* const pixels = shared + Tile::kWeightBytes;
  const int rows = blockDim.x / 16, channels = a.packs * 8;
  const int blocks = (channels + kTileChannels - 1) / kTileChannels;
  int rest = static_cast<int>(blockIdx.x);
  const int channel0 = rest % blocks * kTileChannels;
  rest /= blocks;
  const int tiles_w = (a.ow + kTileColumns - 1) / kTileColumns, tiles_h = (a.oh + rows - 1) / rows;
  const int ox = rest % tiles_w * kTileColumns, oy = rest / tiles_w % tiles_h * rows, image = rest / tiles_w / tiles_h;
  ptx::launch_dependents();
  for (int i = threadIdx.x; i < kKernel * kKernel * 8; i += blockDim.x) {
    const int channel = channel0 + i % 8 * 4;
    if (channel < channels)
      reinterpret_cast<float4*>(taps)[i] =
          __ldg(reinterpret_cast<const float4*>(weights + static_cast<std::int64_t>(i / 8) * channels + channel));
  }
  ptx::wait_for_previous_kernel();
  const T* const from = x + static_cast<std::int64_t>(image) * a.h * a.w * a.x_pixel;
  const int x0 = ox * kStride - a.pad_left, y0 = oy * kStride - a.pad_top;
  const int seen_rows = (rows - 1) * kStride + kKernel;
  const std::uint32_t to = ptx::shared_address(pixels);
  for (int i = threadIdx.x; i < seen_rows * kSeen * 4; i += blockDim.x) {
    const int part = i % 4, column = i / 4 % kSeen, row = i / 4 / kSeen, channel = channel0 + part * 8;
    const bool inside = y0 + row >= 0 && y0 + row < a.h && x0 + column >= 0 && x0 + column < a.w && channel < channels;
    const T* const pixel = from + (static_cast<std::int64_t>(y0 + row) * a.w + x0 + column) * a.x_pixel + channel;
    mma::copy16(to + row * kPitch + column * 64 + part * 16, inside ? pixel : x, inside);
  }
  mma::commit_copies();
  mma::wait_for_copies<0>();
  __syncthreads();

  const int pair = threadIdx.x % 16, row = threadIdx.x / 16, channel = channel0 + pair * 2;
  if (channel >= channels || oy + row >= a.oh) return;
  float2 sums[kTileColumns];
  const float2 first = __ldg(reinterpret_cast<const float2*>(bias + channel));
#pragma unroll
  for (int c = 0; c < kTileColumns; ++c) sums[c] = first;
#pragma unroll
  for (int ky = 0; ky < kKernel; ++ky) {
    const std::uint8_t* const line = pixels + (row * kStride + ky) * kPitch + pair * 4;
    float2 values[kSeen];
#pragma unroll
    for (int c = 0; c < kSeen; ++c) values[c] = Pair<T>::widen(*reinterpret_cast<const std::uint32_t*>(line + c * 64));
#pragma unroll
    for (int kx = 0; kx < kKernel; ++kx) {
      const float2 tap = taps[(ky * kKernel + kx) * 16 + pair];
#pragma unroll
      for (int c = 0; c < kTileColumns; ++c) {
        sums[c].x = fmaf(values[c * kStride + kx].x, tap.x, sums[c].x);
        sums[c].y = fmaf(values[c * kStride + kx].y, tap.y, sums[c].y);
      }
    }
  }
  const std::int64_t pixel0 = (static_cast<std::int64_t>(image) * a.oh + oy + row) * a.ow + ox;
#pragma unroll
  for (int c = 0; c < kTileColumns; ++c) {
    if (ox + c >= a.ow) break;
    float2 sum = sums[c];
    if (residual) {
      const float2 more =
          Pair<T>::widen(*reinterpret_cast<const std::uint32_t*>(residual + (pixel0 + c) * a.residual_pixel + channel));
      sum.x += more.x, sum.y += more.y;
    }
    if (is_plain_silu(a.activation))
      sum = make_float2(silu(sum.x), silu(sum.y));
    else if (a.activation.curve != Curve::none)
      sum = make_float2(curved(sum.x, a.activation), curved(sum.y, a.activation));
    *reinterpret_cast<std::uint32_t*>(y + (pixel0 + c) * a.y_pixel + channel) = Pair<T>::round(
        bounded(sum.x, a.activation.lower, a.activation.upper), bounded(sum.y, a.activation.lower, a.activation.upper));
  }
}

}  // namespace tessera::cuda

#define TSR_DEPTHWISE_TILES_OF(NAME, T, KERNEL, STRIDE)                                                    \
  extern "C" __global__ void __launch_bounds__(128)                                                        \
      depthwise_tiles_##NAME(const T* x, const float* weights, const float* bias, const T* residual, T* y, \
                             const __grid_constant__ tessera::cuda::DepthwiseArguments a) {                \
    tessera::cuda::depthwise_tiles<T, KERNEL, STRIDE>(x, weights, bias, residual, y, a);                   \
  }
#define TSR_DEPTHWISE_TILES(NAME, T)             \
  TSR_DEPTHWISE_TILES_OF(NAME##_5x5, T, 5, 1)    \
  TSR_DEPTHWISE_TILES_OF(NAME##_5x5_s2, T, 5, 2) \
  TSR_DEPTHWISE_TILES_OF(NAME##_7x7, T, 7, 1)
TSR_DEPTHWISE_TILES(f16, __half)
TSR_DEPTHWISE_TILES(bf16, __nv_bfloat16)
