#include "tessera/ncp/internal/dense_kernels.h"

namespace tessera::ncp {

const DenseKernel& dense_kernel([[maybe_unused]] Precision precision, [[maybe_unused]] Isa isa) {
  static constexpr DenseKernel kPortable{"portable", 4, 2, run_dense_portable};
#if defined(__x86_64__)
  static constexpr DenseKernel kAvx2{"avx2", 8, 3, run_dense_avx2};
  static constexpr DenseKernel kAvx512{"avx512", 16, 6, run_dense_avx512};
  static constexpr DenseKernel kAvx512Bf16{"avx512_bf16", 16, 6, run_dense_avx512_bf16, true};
  if (precision == Precision::bfloat16 && isa >= Isa::avx512_bf16) return kAvx512Bf16;
  if (isa >= Isa::avx512) return kAvx512;
  if (isa >= Isa::avx2) return kAvx2;
#endif
  return kPortable;
}

}  // namespace tessera::ncp
