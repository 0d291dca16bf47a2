#include "tessera/ncp/internal/ltc_gradient_kernels.h"

#include "tessera/core/isa.h"

namespace tessera::ncp {

const LtcGradientKernel& ltc_gradient_kernel() {
  static constexpr LtcGradientKernel kPortable{"portable", 4, forward_ltc_portable, backward_ltc_portable};
#if defined(__x86_64__)
  static constexpr LtcGradientKernel kAvx2{"avx2", 8, forward_ltc_avx2, backward_ltc_avx2};
  static constexpr LtcGradientKernel kAvx512{"avx512", 16, forward_ltc_avx512, backward_ltc_avx512};
  if (active_isa() >= Isa::avx512) return kAvx512;
  if (active_isa() >= Isa::avx2) return kAvx2;
#endif
  return kPortable;
}

}  // namespace tessera::ncp
