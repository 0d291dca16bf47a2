#pragma once

// What the host passes to depthwise convolutions, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

// Results of one row that a thread computes, where there is work for all; one where there is little. Large windows need
// more registers, so that fewer threads run at once.
inline constexpr int kColumnsOf5x5 = 2, kColumnsOfOthers = 4;

// Tiles in shared memory: channels and columns of a block.
inline constexpr int kTileChannels = 32, kTileColumns = 8;
template <int kKernel, int kStride>
struct DepthwiseTile {
  static constexpr int kSeen = (kTileColumns - 1) * kStride + kKernel;  // columns that a row of results needs
  // Rows that two halves of a warp read lie in different banks.
  static constexpr int kPitchBytes = kSeen * 64 + (kStride == 2 ? 32 : kSeen % 2 == 0 ? 64 : 0);
  static constexpr int kWeightBytes = kKernel * kKernel * kTileChannels * 4;
  static constexpr int shared_bytes(int rows) { return kWeightBytes + ((rows - 1) * kStride + kKernel) * kPitchBytes; }
};

// Channels last; packs of 16 bytes of neighbouring channels.
struct DepthwiseArguments {
  std::int32_t n, h, w, oh, ow, packs;
  std::int32_t x_pixel, y_pixel, residual_pixel;  // elements from one pixel to the next
  std::int32_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int32_t strips;  // in a row
  Activation activation;
};

}  // namespace tessera::cuda
