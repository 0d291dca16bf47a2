#pragma once

// What the host passes to resizing kernels, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

struct ResizeTapOnDevice {
  std::int32_t at;
  float weight;
};

// Channels last. The taps of row r are taps_h[first_h[r]] to taps_h[first_h[r + 1] - 1], and likewise of columns.
struct ResizeArguments {
  std::int32_t n, h, w, oh, ow, packs;
  std::int32_t x_pixel, y_pixel;  // elements from one pixel to the next
  const std::int32_t *first_h, *first_w;
  const ResizeTapOnDevice *taps_h, *taps_w;
};

}  // namespace tessera::cuda
