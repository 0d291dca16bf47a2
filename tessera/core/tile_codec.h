#pragma once

// Matrices to tiles and back, in the memory format of the card (tile.h). Every function runs on up to max_threads()
// threads with the kernels of active_isa(). Source and destination must not overlap.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/float_bits.h"
#include "tessera/core/isa.h"
#include "tessera/core/shape.h"
#include "tessera/core/tile.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera {

// Bytes of the whole tiles that cover a matrix. Throws for negative extents and for more than 63 bits can count.
TSR_API std::int64_t tiled_bytes(Extent2d extent, DType dtype, const Tile& tile);

// A row-major float32 matrix to tiles of any floating dtype, zero-padded up to whole tiles; the padding takes part in
// the last blocks. Writes tiled_bytes() bytes.
TSR_API void pack_tiles(const float* x, Extent2d extent, DType dtype, const Tile& tile, Rounding rounding,
                        std::byte* out);
// The way back; the padding is dropped. Reads tiled_bytes() bytes.
TSR_API void unpack_tiles(const std::byte* in, Extent2d extent, DType dtype, const Tile& tile, float* y);

// Elements of 1, 2 or 4 bytes from rows to tiles and back, whatever they mean. Padding is zero bytes.
TSR_API void tilize(const std::byte* x, Extent2d extent, int element_bytes, const Tile& tile, std::byte* out);
TSR_API void untilize(const std::byte* in, Extent2d extent, int element_bytes, const Tile& tile, std::byte* y);

// What there is, for reports, tests and benchmarks.
struct TileKernelInfo {
  std::string_view name;       // "pack_bfp8_host_avx512"
  std::string_view operation;  // "pack_bfp8_host"
  Isa needs;
  std::string_view description;
};
TSR_API std::span<const TileKernelInfo> tile_kernels();
// The one that an operation would use now; an Error for an operation that does not exist.
TSR_API const TileKernelInfo& chosen_tile_kernel(std::string_view operation);

}  // namespace tessera
