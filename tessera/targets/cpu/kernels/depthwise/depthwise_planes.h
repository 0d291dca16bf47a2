#pragma once

// One convolution of every channel with its own window, plane by plane: what depthwise_planes.cpp works out once and
// the kernels read.

#include "tessera/core/isa_functions.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"

#include <cstdint>

namespace tessera::cpu {

struct DepthwisePlanesJob {
  std::int64_t channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;  // stride_w: 1 or 2
  std::int64_t top = 0, left = 0;                                       // padding
  std::int64_t chunks = 1, chunk = 0;                                   // of a plane, and their rows

  const float* weights = nullptr;  // [channels][kernel_h][kernel_w]
  const float* bias = nullptr;     // [channels]
  DenseEpilogue epilogue;

  const float* x = nullptr;
  const float* residual = nullptr;  // null: none
  float* y = nullptr;
};

// Units of work: planes times chunks. Unit u is chunk u % chunks of plane u / chunks.
TSR_EACH_ISA(void depthwise_planes(const DepthwisePlanesJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
