#pragma once

// What the host passes to a convolution kernel, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

enum class Activation : std::uint8_t { none, relu, relu6, silu };

// Sizes are in elements; x and y are channels last, images first.
struct Conv2dArguments {
  void* y;
  const void* residual;                 // like y before pooling; null: none
  const float* bias;                    // one for each output channel, zeros up to a whole tile
  std::int32_t n, h, w, c, oh, ow, oc;  // oh, ow: before pooling
  std::int32_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left, groups;
  std::int32_t pool;            // 1, or 2: the largest of 2x2 results is written
  std::int32_t channel_blocks;  // of 64 input channels
  // The output pixels of one tile: box_n images, box_h rows, box_w columns.
  std::int32_t box_n, box_h, box_w;
  std::int32_t tiles_n, tiles_h, tiles_w, pixel_tiles;  // pixel_tiles: their product, rounded up to whole clusters
  std::int32_t tiles;                                   // pixel_tiles times tiles of output channels
  std::int32_t splits;                                  // blocks of one cluster that share the sum of a tile
  std::int32_t patch_pitch;                             // patch kernels: pixels from one row of the patch to the next
  std::int32_t patch_step;                              // and from the first pixel of one warpgroup to that of the next
  bool weights_resident;  // patch kernels: all weights of a block stay in its shared memory
  // The activation: silu or not, then kept between two bounds.
  bool silu;
  float lower, upper;
};

// Images of few channels, 8 for each pixel and with a border in each row.
struct FoldArguments {
  std::int64_t rows;  // of all images
  std::int32_t w, c, pad_left, folded_w;
};

}  // namespace tessera::cuda
