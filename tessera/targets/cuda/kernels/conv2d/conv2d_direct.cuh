#pragma once

// The convolution that takes every shape: one thread for each result, loops as in the definition. Channels of any
// number, groups, dilation and strides. Weights lie as kh, kw, ic, oc, so that neighbouring threads read neighbours.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

template <class T>
__device__ float conv2d_sum(const T* x, const T* w, const Conv2dArguments& a, int image, int oy, int ox, int oc) {
  const int group_channels = a.c / a.groups, first_channel = oc / (a.oc / a.groups) * group_channels;
  float sum = 0;
  for (int ky = 0; ky < a.kh; ++ky) {
    const int y = oy * a.stride_h - a.pad_top + ky * a.dilation_h;
    if (y < 0 || y >= a.h) continue;
    for (int kx = 0; kx < a.kw; ++kx) {
      const int column = ox * a.stride_w - a.pad_left + kx * a.dilation_w;
      if (column < 0 || column >= a.w) continue;
      const T* pixel = x + ((static_cast<std::int64_t>(image) * a.h + y) * a.w + column) * a.x_pixel + first_channel;
      const T* weights = w + static_cast<std::int64_t>(ky * a.kw + kx) * group_channels * a.oc + oc;
      for (int c = 0; c < group_channels; ++c)
        sum = fmaf(widened(pixel[c]), widened(weights[static_cast<std::int64_t>(c) * a.oc]), sum);
    }
  }
  return sum;
}

template <class T>
__device__ void conv2d_direct(const T* x, const T* w, const Conv2dArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int rows = a.oh / a.pool, columns = a.ow / a.pool;
  const std::int64_t count = static_cast<std::int64_t>(a.n) * rows * columns * a.oc;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const int oc = static_cast<int>(i % a.oc);
    const std::int64_t pixel = i / a.oc;
    const int column = static_cast<int>(pixel % columns), row = static_cast<int>(pixel / columns % rows);
    const int image = static_cast<int>(pixel / columns / rows);
    float result = 0;
    for (int part = 0; part < a.pool * a.pool; ++part) {
      const int oy = row * a.pool + part / a.pool, ox = column * a.pool + part % a.pool;
      float value = conv2d_sum(x, w, a, image, oy, ox, oc) + a.bias[oc];
      if (a.residual)
        value += widened(static_cast<const T*>(
            a.residual)[((static_cast<std::int64_t>(image) * a.oh + oy) * a.ow + ox) * a.residual_pixel + oc]);
      value = activated(value, a.activation);
      result = part == 0 ? value : larger(result, value);
    }
    static_cast<T*>(a.y)[image * a.y_image + row * a.y_row + static_cast<std::int64_t>(column) * a.y_pixel + oc] =
        rounded<T>(result);
  }
}

}  // namespace tessera::cuda
