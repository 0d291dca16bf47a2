// The kernels that run, out of those that exist for each instruction set.

#include "tessera/core/isa.h"
#include "tessera/core/isa_functions.h"
#include "tessera/ncp/internal/backward_kernels.h"
#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/ncp/internal/ltc_gradient_kernels.h"
#include "tessera/ncp/internal/ltc_kernels.h"

namespace tessera::ncp {

const DenseKernel& dense_kernel([[maybe_unused]] Precision precision, Isa isa) {
#if defined(__x86_64__)
  if (precision == Precision::bfloat16 && isa >= Isa::avx512_bf16) return avx512_bf16::kDenseKernel;
#endif
  return TSR_FOR_ISA(isa, kDenseKernel);
}

const BackwardKernel& backward_kernel() { return TSR_FOR_ISA(active_isa(), kBackwardKernel); }
const LtcKernel& ltc_kernel(Isa isa) { return TSR_FOR_ISA(isa, kLtcKernel); }
const LtcGradientKernel& ltc_gradient_kernel() { return TSR_FOR_ISA(active_isa(), kLtcGradientKernel); }

}  // namespace tessera::ncp
