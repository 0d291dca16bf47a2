// CfC layers whose products are of tensor cores: operands rounded to tf32, sums in float32.

#include "tessera/targets/cuda/kernels/liquid/cfc.cuh"

#define TSR_CFC(SAMPLES)                                                              \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kCfcThreads, 1)         \
      cfc_tf32_##SAMPLES(const __grid_constant__ tessera::cuda::CfcArguments a) {     \
    tessera::cuda::liquid::run_cfc<tessera::cuda::liquid::TensorProduct, SAMPLES>(a); \
  }
TSR_CFC(8)
TSR_CFC(16)
TSR_CFC(32)
