#pragma once

// Weighted sums of whole pixels, channels last: what GridSample does once it knows where to look.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

struct GridSampleJob {
  static constexpr int kMostTaps = 16;         // of a pixel: four by four
  static constexpr std::int64_t kPixels = 64;  // of one call, at most

  bool bf16 = false;
  std::int64_t channels = 0, y_pixel = 0;  // elements from one pixel of y to the next
  std::int64_t pixels = 0;
  int count[kPixels];                   // taps of each pixel; 0: nothing is seen, the result is 0
  std::int64_t at[kPixels][kMostTaps];  // elements of x before the pixel
  float weight[kPixels][kMostTaps];
  const void* x = nullptr;
  void* y = nullptr;
};

using GridSampleKernel = void (*)(const GridSampleJob& job);
TSR_EACH_ISA(void grid_sample(const GridSampleJob& job);)

}  // namespace tessera::cpu
