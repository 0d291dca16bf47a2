// CfC cells with their weights in registers, for 8 and 16 samples to a block.

#include "tessera/targets/cuda/kernels/liquid/cfc_registers.cuh"

#define TSR_CFC(SAMPLES)                                                                            \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kRegisterThreads, 1)                  \
      cfc_tf32_registers_##SAMPLES(const __grid_constant__ tessera::cuda::CfcRegisterArguments a) { \
    tessera::cuda::liquid::run_cfc_registers<SAMPLES / 8>(a);                                       \
  }
TSR_CFC(8)
TSR_CFC(16)
