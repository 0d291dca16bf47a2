#pragma once

// What the host passes to normalisations over channels, by value. Read by nvcc and by the C++ compiler.

#include "tessera/targets/cuda/kernels/activation.h"

#include <cstdint>

namespace tessera::cuda {

// Of a block that sums up: packs of channels side by side, and its threads.
inline constexpr int kNormPacks = 8, kNormThreads = 256;
inline constexpr int kMostNormGroups = 4096;  // their means and factors lie in shared memory

struct ChannelNormArguments {
  std::int32_t n, pixels, packs, channels;
  std::int32_t group_channels;    // 0: mean and variance are given for each channel
  std::int32_t x_pixel, y_pixel;  // elements from one pixel to the next
  std::int32_t parts;             // blocks of a cluster that share the pixels of an image
  std::int32_t chunks;            // blocks that share an image where it is written
  float epsilon;
  Activation activation;
};

}  // namespace tessera::cuda
