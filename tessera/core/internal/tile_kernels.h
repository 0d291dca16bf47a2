#pragma once

// The kernels behind tile_codec.h. This header is included by files that are compiled for one instruction set, so it
// holds declarations only: an inline function here could be compiled with AVX-512 and then be linked into everything.

#include <cstdint>

namespace tessera {

// Whole tiles that lie side by side in one row of tiles. A tile is a list of blocks, 16 consecutive elements of one
// face row each, in the order of memory: face by face, row by row.
struct TileRun {
  const unsigned char* src;
  unsigned char* dst;
  const std::int64_t* offsets;     // bytes from a tile's corner in the matrix to each of its blocks
  std::int64_t tiles;              // tiles in the run
  std::int64_t matrix_step_bytes;  // from one tile's corner in the matrix to the next
  std::int64_t tile_bytes;         // from one tile in memory to the next
  std::int64_t exponent_bytes;     // block floats: the section ahead of the codes
  int blocks;                      // blocks per tile: 1, 2, 4, ... 64
  int face_blocks;                 // blocks per face: 1, 2, 4, 8 or 16
  int faces_across;                // faces side by side: 1 or 2
  bool stream;                     // write past the caches; every block is aligned for it
};

#define K(operation, isa, description)         \
  namespace isa {                              \
  void operation(const TileRun& run) noexcept; \
  }
#include "tessera/core/tile_codec.def"
#undef K

}  // namespace tessera
