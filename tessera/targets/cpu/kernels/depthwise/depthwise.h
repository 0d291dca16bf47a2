#pragma once

// One convolution of every channel with its own window, channels last: what depthwise.cpp works out once and the
// kernels read.

#include "tessera/core/isa_functions.h"
#include "tessera/targets/cpu/kernels/activation.h"

#include <cstdint>

namespace tessera::cpu {

struct DepthwiseJob {
  std::int64_t channels = 0, height = 0, width = 0;  // of the input
  std::int64_t batch = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, left = 0;      // padding
  std::int64_t chunks = 1, chunk = 0;  // the channels in parts; the last takes what is over
  bool bf16 = false;                   // storage of x, y and residual

  const float* weights = nullptr;  // [kernel_h][kernel_w][channels]
  const float* bias = nullptr;     // [channels]
  // y = after(before(sum + bias) + residual). `clamps`: it is min(max(sum + bias, low), high).
  bool clamps = true;
  float low = 0, high = 0;
  Activation before, after;

  const void* x = nullptr;
  const void* residual = nullptr;
  void* y = nullptr;

  // Parts of one image in memory of their own: x has so many rows used in turns (0: it is whole), as many as a window
  // is high at least; y begins with this row of the result (-1: with the first of the first image).
  std::int64_t x_ring = 0, y_begin = -1;
};

// Units of work: output rows, times chunks. Unit u is row u % rows of chunk u / rows.
using DepthwiseKernel = void (*)(const DepthwiseJob& job, std::int64_t begin, std::int64_t end);
TSR_EACH_ISA(void depthwise(const DepthwiseJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
