#pragma once

// Maximum or average over windows, channels last: what pool.cpp works out once and the kernels read.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

// The taps of one window along one axis that lie inside the input.
struct PoolSpan {
  std::int64_t first = 0;   // input position of the first
  std::int64_t count = 0;   // taps
  std::int64_t padded = 0;  // taps that lie in the input or its padding
};

struct PoolJob {
  bool max = true, bf16 = false;
  bool has_sign = false;  // of bytes
  bool count_padding = false;
  std::int64_t channels = 0, height = 0, width = 0, out_height = 0, out_width = 0;
  std::int64_t x_pixel = 0, y_pixel = 0;  // elements from one pixel to the next; as many as channels for bytes
  std::int64_t dilation_h = 1, dilation_w = 1;
  const PoolSpan* rows = nullptr;     // [out_height]
  const PoolSpan* columns = nullptr;  // [out_width]
  const void* x = nullptr;
  void* y = nullptr;
};

// Units of work: output rows of all images.
using PoolKernel = void (*)(const PoolJob& job, std::int64_t begin, std::int64_t end);
TSR_EACH_ISA(void pool(const PoolJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
