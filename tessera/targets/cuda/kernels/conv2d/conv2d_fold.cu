// Images of up to 8 channels made ready for the tensor cores: each pixel gets 8 channels, each row its border. Eight
// neighbouring pixels are then the 64 channels of one step, so that a 7x7 convolution has 7 steps instead of 49.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_arguments.h"
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
    const std::uint16_t* pixel = x + (row * a.w + column) * a.c;
#pragma unroll
    for (int c = 0; c < 8; ++c)
      if (c < a.c) parts[c / 2] |= static_cast<std::uint32_t>(pixel[c]) << (c % 2 * 16);
  }
  y[i] = make_uint4(parts[0], parts[1], parts[2], parts[3]);
}
