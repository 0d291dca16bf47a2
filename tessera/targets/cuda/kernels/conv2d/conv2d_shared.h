#pragma once

// The fields of a row of tiles that both the kernel and the planner read, and the shared memory they amount to.

namespace tessera::cuda {

inline constexpr int kBlockBytes = 128;   // of input channels in one step: the width of the swizzle
inline constexpr int kExactPixels = 128;  // of a tile without tensor cores
inline constexpr int kExactDepth = 16;    // input channels of a step there

struct Conv2dTiling {
  bool patch;      // else gather
  int warpgroups;  // of 64 pixels each
  int oc;          // output channels of a tile
  int stages;      // of 64 input channels, in flight
  int multicast;   // blocks of a cluster that share weights

  constexpr int pixels() const { return warpgroups * 64; }
  // With 256 channels the sums take half of all registers: the loading warp becomes a warpgroup, which hands its
  // registers to those that multiply (only whole warpgroups can).
  constexpr bool moves_registers() const { return oc == 256; }
  constexpr int threads() const { return warpgroups * 128 + (moves_registers() ? 128 : 32); }
  // A patch is 10 pixels wide and 2 rows higher than its tile, or 10x10 for each image of 8x8 pixels.
  constexpr int patch_bytes() const { return (warpgroups * 100 * 128 + 1023) / 1024 * 1024; }
  constexpr int stage_bytes() const { return (patch ? 0 : pixels() * 128) + oc * 128; }
  constexpr int pipeline_bytes() const { return (patch ? 2 * patch_bytes() : 0) + stages * stage_bytes(); }
  constexpr int barrier_bytes() const { return (2 * stages + 4) * 8; }
  // The pipeline starts at a multiple of 1024, which is the period of the swizzle.
  constexpr int shared_bytes() const { return 1024 + pipeline_bytes() + barrier_bytes(); }
  // Where sums are split, the pipeline's memory holds the partial tile.
  constexpr bool takes_splits() const { return multicast == 1 && pixels() * (oc + 4) * 4 <= pipeline_bytes(); }
};

}  // namespace tessera::cuda
