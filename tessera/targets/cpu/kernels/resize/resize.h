#pragma once

// Interpolation over the two spatial axes, by tables: what resize.cpp works out once and the kernels read.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

// Output element i is the sum over t in [first[i], first[i + 1]) of x[at[t]] * weight[t].
struct ResizeTable {
  const std::int64_t* first = nullptr;
  const std::int64_t* at = nullptr;
  const float* weight = nullptr;
};

struct ResizeJob {
  static constexpr std::int64_t kMostTaps = 4;  // along one axis

  bool bf16 = false;
  bool channels_last = true;
  std::int64_t channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t x_pixel = 0, y_pixel = 0;  // channels_last: elements from one pixel to the next
  ResizeTable rows, columns;
  const void* x = nullptr;
  void* y = nullptr;
};

// Units of work: output rows of all images (channels_last), or of all channels of all images.
using ResizeKernel = void (*)(const ResizeJob& job, std::int64_t begin, std::int64_t end);
TSR_EACH_ISA(void resize(const ResizeJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
