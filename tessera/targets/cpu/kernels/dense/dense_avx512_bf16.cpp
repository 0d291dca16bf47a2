// The dense engine's functions for AVX-512 with products of bfloat16: dense_simd.h has them.

#include "tessera/targets/cpu/kernels/dense/dense_simd.h"

namespace tessera::cpu {

// Lines of the manifest for other instruction sets define nothing here.
#define TSR_TILE_amx(storage, rows, columns, vectors)
#define TSR_MAX_amx(storage)
#define TSR_TILE_portable(storage, rows, columns, vectors)
#define TSR_MAX_portable(storage)
#define TSR_TILE_avx2(storage, rows, columns, vectors)
#define TSR_MAX_avx2(storage)
#define TSR_TILE_avx512(storage, rows, columns, vectors)
#define TSR_MAX_avx512(storage)
#define TSR_TILE_avx512_bf16(storage, rows, columns, vectors)                      \
  void dense_##storage##_##rows##x##columns##_avx512_bf16(const DenseTile& tile) { \
    static_assert(columns == vectors * avx512_bf16::Vec::kWidth);                  \
    avx512_bf16::dense_tile<avx512_bf16::Pairs, rows, vectors>(tile);              \
  }
#define TSR_MAX_avx512_bf16(storage)                                                                             \
  void dense_max_##storage##_avx512_bf16(const void* const* rows, std::ptrdiff_t count, std::ptrdiff_t elements, \
                                         void* y) {                                                              \
    avx512_bf16::dense_max<avx512_bf16::Storage_##storage>(rows, count, elements, y);                            \
  }
#define K(storage, rows, columns, isa, vectors) TSR_TILE_##isa(storage, rows, columns, vectors)
#define M(storage, isa) TSR_MAX_##isa(storage)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M

}  // namespace tessera::cpu
