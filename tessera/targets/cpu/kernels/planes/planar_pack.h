#pragma once

// Columns of the product that a convolution over planes is (conv2d_planar.cpp): what each output pixel sees, side by
// side.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

struct PlanarShape {
  std::int64_t channels = 0, height = 0, width = 0, out_width = 0;
  std::int64_t kh = 1, kw = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
};

// to[k * step + j] = what output pixel first + j of the image x sees at k, which counts channels, then rows and columns
// of the window. 0 in the padding; columns from `count` to `step` are left as they are.
TSR_EACH_ISA(void pack_pixels(const PlanarShape& shape, const float* x, std::int64_t first, std::int64_t count,
                              std::int64_t step, float* to);)

}  // namespace tessera::cpu
