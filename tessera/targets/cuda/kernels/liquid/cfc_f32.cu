// CfC layers whose products are float32 throughout.

#include "tessera/targets/cuda/kernels/liquid/cfc.cuh"

#define TSR_CFC(SAMPLES)                                                             \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kCfcThreads, 1)        \
      cfc_f32_##SAMPLES(const __grid_constant__ tessera::cuda::CfcArguments a) {     \
    tessera::cuda::liquid::run_cfc<tessera::cuda::liquid::PlainProduct, SAMPLES>(a); \
  }
TSR_CFC(1)
TSR_CFC(4)
TSR_CFC(8)
TSR_CFC(16)
