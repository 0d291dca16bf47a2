// The dense engine's tiles of 256-bit vectors for AVX-512: dense_simd.h has them.

#define TSR_HALF_VECTORS
#include "tessera/targets/cpu/kernels/dense/dense_simd.h"

namespace tessera::cpu {

#define H(storage, rows, columns, isa, vectors)                                                         \
  void dense_##storage##_##rows##x##columns##_##isa(const DenseTile& tile) {                            \
    static_assert(columns == vectors * avx512_half::Vec::kWidth);                                       \
    avx512_half::dense_tile<avx512_half::Singles<avx512_half::Storage_##storage>, rows, vectors>(tile); \
  }
#define K(storage, rows, columns, isa, vectors)
#define M(storage, isa)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef H
#undef K
#undef M

}  // namespace tessera::cpu
