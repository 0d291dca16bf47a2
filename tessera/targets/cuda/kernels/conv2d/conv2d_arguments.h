#pragma once

// What the host passes to a convolution kernel, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

// Sizes are in elements; x and y are channels last, images first.
struct Conv2dArguments {
  void* y;
  const void* residual;                 // of y's size before pooling; null: none
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
  // From one image, row and pixel to the next; x_pixel is for the direct kernel, others have it from the copy engine.
  std::int64_t y_image, y_row;
  std::int32_t y_pixel, residual_pixel, x_pixel;
  bool y_vectors, residual_vectors;  // channels of a pixel lie in whole 16 bytes
  bool y_leaves;                     // y is so large that it will not stay in L2, where x is needed again
  // Transposed convolutions whose windows do not overlap: each output channel is there once for every place of the
  // window, which has phases_w columns. Channels that follow each other in blocks of phase_oc lie at the next place;
  // phase_row and phase_column are from one to the next. phases_w 0: there are no phases.
  std::int32_t phases_w, phase_oc;
  std::int64_t phase_row, phase_column;
  Activation activation;
};

// Images of few channels, 8 for each pixel and with a border in each row.
struct FoldArguments {
  std::int64_t rows;  // of all images
  std::int32_t h, w, c, x_pixel, pad_left, folded_w;
};

}  // namespace tessera::cuda
