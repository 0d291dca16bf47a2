#pragma once

// One convolution of every plane with its own window, planes apart: what depthwise_planar.cpp works out once and the
// kernels read.

#include "tessera/backends/cpu/internal/depthwise.h"
#include "tessera/backends/cpu/internal/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

// Rows of a plane are copied with their padding, elements of each phase of the stride together: tap (ky, kx) of a
// window then reads neighbours for neighbouring pixels.
struct DepthwisePlanarJob {
  DepthwiseJob job;               // weights: [channels][kernel_h][kernel_w]; units are planes
  std::int64_t strip = 1;         // rows of the result for which rows are copied at once
  std::int64_t phases = 1;        // of the stride that some tap has
  std::int64_t phase_pixels = 0;  // elements of one phase of a row, with room for a vector behind
};

// Elements of copied rows, of one thread.
constexpr std::int64_t kPlanarElements = 12 << 10;

TSR_EACH_ISA(void depthwise_planar(const DepthwisePlanarJob& planar, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
