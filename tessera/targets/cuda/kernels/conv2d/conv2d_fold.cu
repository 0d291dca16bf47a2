// Images of few channels made ready for the tensor cores: each pixel gets 16 bytes of channels, each row its border.
// Eight neighbouring pixels are then the 128 bytes of one step, so that a 7x7 convolution has 7 steps instead of 49.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

// One thread for each pixel of y, elements of 16 bits.
extern "C" __global__ void __launch_bounds__(256)
    conv2d_fold(const std::uint16_t* x, uint4* y, const __grid_constant__ tessera::cuda::FoldArguments a) {
  tessera::cuda::ptx::launch_dependents();
  tessera::cuda::ptx::wait_for_previous_kernel();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.folded_w) return;
  const std::int64_t row = i / a.folded_w;
  const int column = static_cast<int>(i % a.folded_w) - a.pad_left;
  std::uint32_t parts[4] = {};
  if (column >= 0 && column < a.w) {
    const std::uint16_t* pixel = x + (row * a.w + column) * a.x_pixel;
#pragma unroll
    for (int c = 0; c < 8; ++c)
      if (c < a.c) parts[c / 2] |= static_cast<std::uint32_t>(pixel[c]) << (c % 2 * 16);
  }
  y[i] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
}

// Of float32: 4 channels for each pixel.
__device__ __forceinline__ void fold_wide(const float* x, uint4* y, const tessera::cuda::FoldArguments& a,
                                          bool planes) {
  tessera::cuda::ptx::launch_dependents();
  tessera::cuda::ptx::wait_for_previous_kernel();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.folded_w) return;
  const std::int64_t row = i / a.folded_w;
  const int column = static_cast<int>(i % a.folded_w) - a.pad_left;
  float values[4] = {};
  if (column >= 0 && column < a.w) {
    const std::int64_t plane = static_cast<std::int64_t>(a.h) * a.w;
    const float* const pixel =
        planes ? x + row / a.h * a.c * plane + row % a.h * a.w + column : x + (row * a.w + column) * a.x_pixel;
#pragma unroll
    for (int c = 0; c < 4; ++c)
      if (c < a.c) values[c] = pixel[planes ? c * plane : c];
  }
  y[i] = make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                    __float_as_uint(values[3]));
}
extern "C" __global__ void __launch_bounds__(256)
    conv2d_fold_f32(const float* x, uint4* y, const __grid_constant__ tessera::cuda::FoldArguments a) {
  fold_wide(x, y, a, false);
}
extern "C" __global__ void __launch_bounds__(256)
    conv2d_fold_planes_f32(const float* x, uint4* y, const __grid_constant__ tessera::cuda::FoldArguments a) {
  fold_wide(x, y, a, true);
}

// The same from float32 images with channels first, as callers have them.
template <class T>
__device__ __forceinline__ void fold_planes(const float* x, uint4* y, const tessera::cuda::FoldArguments& a) {
  tessera::cuda::ptx::launch_dependents();
  tessera::cuda::ptx::wait_for_previous_kernel();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.rows * a.folded_w) return;
  const std::int64_t row = i / a.folded_w;
  const int column = static_cast<int>(i % a.folded_w) - a.pad_left;
  float values[8] = {};
  if (column >= 0 && column < a.w) {
    const std::int64_t image = row / a.h, line = row % a.h, plane = static_cast<std::int64_t>(a.h) * a.w;
    const float* const pixel = x + image * a.c * plane + line * a.w + column;
#pragma unroll
    for (int c = 0; c < 8; ++c)
      if (c < a.c) values[c] = pixel[c * plane];
  }
  using tessera::cuda::Pair;
  y[i] = make_uint4(Pair<T>::round(values[0], values[1]), Pair<T>::round(values[2], values[3]),
                    Pair<T>::round(values[4], values[5]), Pair<T>::round(values[6], values[7]));
}
extern "C" __global__ void __launch_bounds__(256)
    conv2d_fold_planes_f16(const float* x, uint4* y, const __grid_constant__ tessera::cuda::FoldArguments a) {
  fold_planes<__half>(x, y, a);
}
extern "C" __global__ void __launch_bounds__(256)
    conv2d_fold_planes_bf16(const float* x, uint4* y, const __grid_constant__ tessera::cuda::FoldArguments a) {
  fold_planes<__nv_bfloat16>(x, y, a);
}
