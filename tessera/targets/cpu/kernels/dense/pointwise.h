#pragma once

// Convolutions of 1x1 whose values are row-major: planes of output channels, y = W x, where a vector holds pixels. Sums
// go over the input channels one after the other whatever the tile, so that no bit depends on how the work is cut.
//
// Plain data: files compiled for an instruction set include it.

#include "tessera/core/isa_functions.h"
#include "tessera/targets/cpu/kernels/dense/dense_tile.h"

#include <cstddef>

namespace tessera::cpu {

// Some pixels of one image times some panels of output channels. Panel p of `panels` has the channels from
// p * channels / panels on; its weights lie at depth * (its first channel), [depth][channels of the panel].
struct PointwiseBlock {
  const float* x = nullptr;         // the first of the pixels, in the first plane
  const float* residual = nullptr;  // likewise; may be null
  float* y = nullptr;               // likewise
  std::ptrdiff_t plane = 0;         // elements from one channel to the next, of all three
  std::ptrdiff_t pixels = 0;
  std::ptrdiff_t depth = 0;  // input channels

  const float* weights = nullptr;  // one vector more than there are may be read
  const float* bias = nullptr;     // likewise
  std::ptrdiff_t channels = 0, panels = 0, panel_begin = 0, panel_end = 0;
  const DenseEpilogue* epilogue = nullptr;

  const float* ahead = nullptr;  // x of the block after this one, which is brought nearer meanwhile; may be null
  float* packed = nullptr;       // pointwise_packed() elements, aligned to 64 bytes
};

struct PointwiseFunctions {
  std::ptrdiff_t rows;     // output channels of a panel, at most
  std::ptrdiff_t columns;  // pixels of a tile
  std::ptrdiff_t width;    // of a vector
  // So few pixels after whole vectors go another way, with channels in the vector.
  std::ptrdiff_t few;
  void (*run)(const PointwiseBlock& block);
};

TSR_EACH_ISA(PointwiseFunctions pointwise();)

}  // namespace tessera::cpu
