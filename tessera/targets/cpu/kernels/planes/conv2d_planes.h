#pragma once

// A convolution of few channels that reads planes: what conv2d_planes.cpp works out once and the kernels read.
//
// Input rows are copied, with zeros on both sides, into a ring of as many as the window has; output rows are made one
// after another from there. The ring is [row][channel][phase][line]: with two phases, pixels 0, 2, 4, ... and 1, 3, 5,
// ... lie apart, so that neighbours of an output row with stride 2 do too.

#include "tessera/core/isa_functions.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"

#include <cstdint>

namespace tessera::cpu {

struct Conv2dPlanesJob {
  std::int64_t ic = 0, height = 0, width = 0, oc = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;  // stride_w: 1 or 2
  std::int64_t top = 0, left = 0;                                       // padding
  std::int64_t phases = 1, line = 0;                                    // line: elements, a multiple of the vector's

  const float* weights = nullptr;  // [panel][kernel_h][ic][kernel_w][channels of a panel]
  const float* bias = nullptr;     // padded to whole panels
  DenseEpilogue epilogue;

  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t y_pixel = 0;  // channels last: elements from one to the next
  std::int64_t y_ring = 0;   // > 0: y has so many rows of a single image, used in turns
};

// The rows of one image that are in the ring: those before `end` that the last output row saw.
struct Conv2dPlanesRing {
  float* lines = nullptr;
  std::int64_t image = -1, end = 0;
};

// Output rows [begin, end) of an image. y is [image][row][pixel][channel] or [image][channel][row][pixel].
TSR_EACH_ISA(void conv2d_planes_to_last(const Conv2dPlanesJob& job, Conv2dPlanesRing& ring, std::int64_t image,
                                        std::int64_t begin, std::int64_t end);)
TSR_EACH_ISA(void conv2d_planes_to_planes(const Conv2dPlanesJob& job, Conv2dPlanesRing& ring, std::int64_t image,
                                          std::int64_t begin, std::int64_t end);)

// Tiles: pixels times channels, and channels times pixels; one vector is 16, 8 or 4 of the second.
constexpr int kConv2dPlanesVectors = 2;       // of channels, channels last
constexpr int kConv2dPlanesPixelVectors = 3;  // of pixels, planes

}  // namespace tessera::cpu
