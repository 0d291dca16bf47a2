// LTC layers, in float32.

#include "tessera/targets/cuda/kernels/liquid/ltc.cuh"

#define TSR_LTC(SAMPLES)                                                         \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kLtcThreads, 1)    \
      ltc_f32_##SAMPLES(const __grid_constant__ tessera::cuda::LtcArguments a) { \
    tessera::cuda::liquid::run_ltc<SAMPLES>(a);                                  \
  }
TSR_LTC(1)
TSR_LTC(4)
TSR_LTC(8)
