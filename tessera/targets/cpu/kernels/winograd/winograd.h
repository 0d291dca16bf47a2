#pragma once

// Winograd's convolutions F(m, 3): 3x3 kernels of stride 1 by m x m outputs at a time. With t = m + 2, each of the t*t
// places of a transformed input tile is one product of matrices, tiles x channels times channels x outputs:
// (t/m)^2 multiplications for an output instead of 9 (4, 2.25 and 1.78 for m = 2, 4 and 6), and some additions.
//
// Plain data: files compiled for an instruction set include it.

#include "tessera/core/isa_functions.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"

#include <cstddef>

namespace tessera::cpu {

// Tiles are counted over all images, row by row. `first` is the tile whose values lie at the beginning of v or m.
struct WinogradInput {
  const float* x = nullptr;
  std::ptrdiff_t height = 0, width = 0, channels = 0, top = 0, left = 0;
  std::ptrdiff_t pixel = 0;                 // channels last: elements from one to the next
  std::ptrdiff_t tiles_h = 0, tiles_w = 0;  // of an image
  const float* zeros = nullptr;             // `channels` of them
  std::ptrdiff_t first = 0;
  bool far = false;                                  // x comes from memory: planes are fetched ahead
  float* v = nullptr;                                // v[place * place_stride + (tile - first) * tile_stride + channel]
  std::ptrdiff_t place_stride = 0, tile_stride = 0;  // elements; rows are padded to whole vectors
};

struct WinogradOutput {
  const float* m = nullptr;  // m[place * place_stride + (tile - first) * tile_stride + column]
  std::ptrdiff_t place_stride = 0, tile_stride = 0;
  std::ptrdiff_t first = 0;
  std::ptrdiff_t tiles_h = 0, tiles_w = 0;
  std::ptrdiff_t height = 0, width = 0;             // of the convolution's result
  std::ptrdiff_t channels = 0;                      // of the whole result
  std::ptrdiff_t pixel = 0, residual_pixel = 0;     // channels last: elements from one to the next
  std::ptrdiff_t column_begin = 0, column_end = 0;  // channels that m holds
  const float* bias = nullptr;                      // of channel 0; may be null
  const float* residual = nullptr;                  // as the convolution's result; may be null
  const DenseEpilogue* epilogue = nullptr;
  bool pools = false;  // largest of 2x2, stride 2
  std::ptrdiff_t pool_height = 0, pool_width = 0;
  bool far = false;  // likewise y
  float* y = nullptr;
};

struct WinogradWeights {
  const float* w = nullptr;  // [column][channel][3][3]
  std::ptrdiff_t channels = 0, columns = 0;
  std::ptrdiff_t panel_columns = 0;
  float* u = nullptr;  // u[(place * panels + panel) * channels * panel_columns + channel * panel_columns + column]
};

using WinogradInputFn = void (*)(const WinogradInput& job, std::ptrdiff_t tile_begin, std::ptrdiff_t tile_end);
using WinogradOutputFn = void (*)(const WinogradOutput& job, std::ptrdiff_t tile_begin, std::ptrdiff_t tile_end);
using WinogradWeightsFn = void (*)(const WinogradWeights& job, std::ptrdiff_t panel_begin, std::ptrdiff_t panel_end);

struct WinogradFunctions {
  // [Order] of x; of y and the residual.
  WinogradInputFn input[2];
  WinogradOutputFn output[2];
  WinogradWeightsFn weights;
};

// For m = 2, 4 or 6.
TSR_EACH_ISA(WinogradFunctions winograd(int m);)

}  // namespace tessera::cpu
