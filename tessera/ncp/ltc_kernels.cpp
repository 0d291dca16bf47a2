#include "tessera/ncp/internal/ltc_kernels.h"

namespace tessera::ncp {

const LtcKernel& ltc_kernel([[maybe_unused]] Isa isa) {
  static constexpr LtcKernel kPortable{"portable", 4, run_ltc_one_portable, run_ltc_lanes_portable};
#if defined(__x86_64__)
  static constexpr LtcKernel kAvx2{"avx2", 8, run_ltc_one_avx2, run_ltc_lanes_avx2};
  static constexpr LtcKernel kAvx512{"avx512", 16, run_ltc_one_avx512, run_ltc_lanes_avx512};
  if (isa >= Isa::avx512) return kAvx512;
  if (isa >= Isa::avx2) return kAvx2;
#endif
  return kPortable;
}

}  // namespace tessera::ncp
