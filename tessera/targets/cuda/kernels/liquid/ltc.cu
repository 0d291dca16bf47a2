// LTC layers, in float32: blocks alone and in clusters, and for each the usual layer and any.

#include "tessera/targets/cuda/kernels/liquid/ltc.cuh"

#define TSR_LTC(NAME, SAMPLES, CLUSTER, USUAL)                                \
  extern "C" __global__ void __launch_bounds__(tessera::cuda::kLtcThreads, 1) \
      ltc_f32_##NAME(const __grid_constant__ tessera::cuda::LtcArguments a) { \
    tessera::cuda::liquid::run_ltc<SAMPLES, CLUSTER, USUAL>(a);               \
  }
#define TSR_LTC_SAMPLES(SAMPLES)                   \
  TSR_LTC(SAMPLES, SAMPLES, false, false)          \
  TSR_LTC(SAMPLES##_cluster, SAMPLES, true, false) \
  TSR_LTC(SAMPLES##_usual, SAMPLES, false, true)   \
  TSR_LTC(SAMPLES##_cluster_usual, SAMPLES, true, true)
TSR_LTC_SAMPLES(1)
TSR_LTC_SAMPLES(4)
TSR_LTC_SAMPLES(8)
