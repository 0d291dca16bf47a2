// The dense engine's functions for AMX: dense_tiles_simd.h has the tile.

#include "tessera/targets/cpu/kernels/dense/dense_tiles_simd.h"

namespace tessera::cpu {

// Lines of the manifest for other instruction sets define nothing here.
#define TSR_TILE_portable(storage, rows, columns, vectors)
#define TSR_MAX_portable(storage)
#define TSR_TILE_avx2(storage, rows, columns, vectors)
#define TSR_MAX_avx2(storage)
#define TSR_TILE_avx512(storage, rows, columns, vectors)
#define TSR_MAX_avx512(storage)
#define TSR_TILE_avx512_bf16(storage, rows, columns, vectors)
#define TSR_MAX_avx512_bf16(storage)
#define TSR_TILE_amx(storage, rows, columns, vectors)                          \
  void dense_##storage##_##rows##x##columns##_amx(const DenseTile& tile) {     \
    static_assert(rows == 2 * amx::kUnitRows && columns == amx::kTileColumns); \
    amx::dense_tiles<AmxTiles>(tile);                                          \
  }
#define TSR_MAX_amx(storage)                                                                                        \
  void dense_max_##storage##_amx(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, void* y) { \
    amx::dense_max<amx::Storage_##storage>(rows, count, elements, y);                                               \
  }
#define K(storage, rows, columns, isa, vectors) TSR_TILE_##isa(storage, rows, columns, vectors)
#define M(storage, isa) TSR_MAX_##isa(storage)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M

void dense_begin_amx(std::ptrdiff_t most) { amx::begin_tiles<AmxTiles>(most); }
void dense_end_amx() { AmxTiles::release(); }

}  // namespace tessera::cpu
