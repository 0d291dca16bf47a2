// The dense engine's functions: the rows of dense.def for the instruction set at hand. dense_simd.h has their
// templates, dense_tiles_simd.h the one of AMX.
//
// Compiled for: portable avx2 avx512 avx512_half avx512_bf16 amx

#include "tessera/targets/cpu/kernels/dense/dense_simd.h"

#if defined(__AMX_BF16__)
#include "tessera/targets/cpu/kernels/dense/dense_tiles_simd.h"
#endif

namespace tessera::cpu {

#if defined(__AMX_BF16__)
#define TSR_TILE(storage, rows, columns, isa, vectors)                         \
  void dense_##storage##_##rows##x##columns##_##isa(const DenseTile& tile) {   \
    static_assert(rows == 2 * isa::kUnitRows && columns == isa::kTileColumns); \
    isa::dense_tiles<simd::AmxTiles>(tile);                                    \
  }

void dense_begin_amx(std::ptrdiff_t most) { amx::begin_tiles<simd::AmxTiles>(most); }
void dense_end_amx() { simd::AmxTiles::release(); }
#else
#define TSR_TILE(storage, rows, columns, isa, vectors)                                       \
  void dense_##storage##_##rows##x##columns##_##isa(const DenseTile& tile) {                 \
    static_assert(columns == vectors * TSR_ISA::Vec::kWidth);                                \
    TSR_ISA::dense_tile<TSR_ISA::Products<TSR_ISA::Storage_##storage>, rows, vectors>(tile); \
  }
#endif
#define TSR_MAX(storage, isa)                                                                                         \
  void dense_max_##storage##_##isa(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, void* y) { \
    TSR_ISA::dense_max<TSR_ISA::Storage_##storage>(rows, count, elements, y);                                         \
  }

#define K(storage, rows, columns, isa, vectors) TSR_IF_ISA(isa, TSR_TILE(storage, rows, columns, isa, vectors))
#define H(storage, rows, columns, isa, vectors) TSR_IF_ISA(isa##_half, TSR_TILE(storage, rows, columns, isa, vectors))
#define M(storage, isa) TSR_IF_ISA(isa, TSR_MAX(storage, isa))
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef H
#undef K
#undef M

}  // namespace tessera::cpu
