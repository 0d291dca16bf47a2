#pragma once

// What the host passes to pooling kernels, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

// Channels last. Packs: of neighbouring channels.
struct PoolArguments {
  std::int32_t n, h, w, oh, ow, packs;  // packs: of a pixel
  std::int32_t x_pixel, y_pixel;        // elements from one pixel to the next
  std::int32_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left, pad_bottom, pad_right;
  bool average;
  bool counts_border;  // of an average: places in the border count
};

// Of a block over whole images: packs of channels side by side, and its threads.
inline constexpr int kGlobalPoolPacks = 8, kGlobalPoolThreads = 256;

struct GlobalPoolArguments {
  std::int32_t n, pixels, packs;
  std::int32_t parts;    // blocks of a cluster that share the pixels of an image
  std::int32_t x_pixel;  // elements from one pixel to the next
  bool average;          // otherwise the largest
};

}  // namespace tessera::cuda
