// The dense engine's functions for AVX2: dense_simd.h has them.

#include "tessera/targets/cpu/kernels/dense/dense_simd.h"

namespace tessera::cpu {

// Lines of the manifest for other instruction sets define nothing here.
#define TSR_TILE_amx(storage, rows, columns, vectors)
#define TSR_MAX_amx(storage)
#define TSR_TILE_avx512_bf16(storage, rows, columns, vectors)
#define TSR_MAX_avx512_bf16(storage)
#define TSR_TILE_portable(storage, rows, columns, vectors)
#define TSR_MAX_portable(storage)
#define TSR_TILE_avx512(storage, rows, columns, vectors)
#define TSR_MAX_avx512(storage)
#define TSR_TILE_avx2(storage, rows, columns, vectors)                             \
  void dense_##storage##_##rows##x##columns##_avx2(const DenseTile& tile) {        \
    static_assert(columns == vectors * avx2::Vec::kWidth);                         \
    avx2::dense_tile<avx2::Singles<avx2::Storage_##storage>, rows, vectors>(tile); \
  }
#define TSR_MAX_avx2(storage)                                                                                        \
  void dense_max_##storage##_avx2(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, void* y) { \
    avx2::dense_max<avx2::Storage_##storage>(rows, count, elements, y);                                              \
  }
#define K(storage, rows, columns, isa, vectors) TSR_TILE_##isa(storage, rows, columns, vectors)
#define M(storage, isa) TSR_MAX_##isa(storage)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M

}  // namespace tessera::cpu
