#pragma once

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/shape.h"

#include <algorithm>
#include <span>
#include <string>

namespace tessera {

// The unit a tile machine computes on: height x width elements in faces of at most 16x16. Tiles lie row by row over
// the padded matrix, faces row by row in the tile, elements row by row in the face.
struct TSR_API Tile {
  int height = 32;
  int width = 32;

  static constexpr int kMaxFace = 16;

  constexpr int face_height() const { return std::min(height, kMaxFace); }
  constexpr int face_width() const { return std::min(width, kMaxFace); }
  constexpr int faces() const { return (height / face_height()) * (width / face_width()); }
  constexpr int elements() const { return height * width; }
  constexpr bool operator==(const Tile&) const = default;

  std::string to_string() const;  // "{32, 32}"
};

// The tile sizes that exist: heights 32, 16, 8, 4, 2, 1 with widths 32 and 16.
TSR_API std::span<const Tile> all_tiles();
TSR_API void check_tile(const Tile& tile);

// Block floats: the section of shared exponents, one byte per face row, zero-padded to 16 bytes.
constexpr std::int64_t exponent_section_bytes(const Tile& tile) {
  return round_up(tile.faces() * tile.face_height(), 16);
}

// Bytes of one tile as it lies in memory: 4096, 2048, 1088, 576, ... for 32x32.
constexpr std::int64_t tile_bytes(const Tile& tile, DType dtype) {
  if (dtype == DType::bfloat8_b) return exponent_section_bytes(tile) + tile.elements();
  if (dtype == DType::bfloat4_b) return exponent_section_bytes(tile) + tile.elements() / 2;
  return std::int64_t{tile.elements()} * element_bytes(dtype);
}

// The matrix that tiles cover: both extents rounded up to whole tiles.
constexpr Extent2d padded_to_tiles(const Extent2d& e, const Tile& tile) {
  return {round_up(e.height, tile.height), round_up(e.width, tile.width)};
}

}  // namespace tessera
