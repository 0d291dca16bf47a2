// CfC cells with their weights in registers: 8 and 16 samples to a block, blocks alone and in clusters, and for each
// the usual cell and any.

#include "tessera/targets/cuda/kernels/liquid/cfc_registers.cuh"

#define TSR_CFC(NAME, SAMPLES, CLUSTER, USUAL)                                                   \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kRegisterThreads, 1)               \
      cfc_tf32_registers_##NAME(const __grid_constant__ tessera::cuda::CfcRegisterArguments a) { \
    tessera::cuda::liquid::run_cfc_registers<SAMPLES / 8, CLUSTER, USUAL>(a);                    \
  }
TSR_CFC(8, 8, false, false)
TSR_CFC(16, 16, false, false)
TSR_CFC(8_cluster, 8, true, false)
TSR_CFC(16_cluster, 16, true, false)
TSR_CFC(8_usual, 8, false, true)
TSR_CFC(16_usual, 16, false, true)
TSR_CFC(8_cluster_usual, 8, true, true)
TSR_CFC(16_cluster_usual, 16, true, true)
