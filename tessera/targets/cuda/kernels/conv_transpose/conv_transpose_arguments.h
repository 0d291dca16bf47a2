#pragma once

// What the host passes to the transposed convolution, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

// Channels last.
struct ConvTransposeArguments {
  std::int32_t n, h, w, c, oh, ow, oc, groups;
  std::int32_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int32_t x_pixel, y_pixel, residual_pixel;  // elements from one pixel to the next
  Activation activation;
};

}  // namespace tessera::cuda
