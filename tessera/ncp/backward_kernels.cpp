#include "tessera/ncp/internal/backward_kernels.h"

#include "tessera/core/isa.h"

namespace tessera::ncp {

const BackwardKernel& backward_kernel() {
  static constexpr BackwardKernel kPortable{add_outer_portable, add_columns_portable, back_gate_portable,
                                            back_memory_portable, round_portable};
#if defined(__x86_64__)
  static constexpr BackwardKernel kAvx2{add_outer_avx2, add_columns_avx2, back_gate_avx2, back_memory_avx2, round_avx2};
  static constexpr BackwardKernel kAvx512{add_outer_avx512, add_columns_avx512, back_gate_avx512, back_memory_avx512,
                                          round_avx512};
  if (active_isa() >= Isa::avx512) return kAvx512;
  if (active_isa() >= Isa::avx2) return kAvx2;
#endif
  return kPortable;
}

}  // namespace tessera::ncp
