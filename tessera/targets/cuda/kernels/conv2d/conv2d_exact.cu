#include "tessera/targets/cuda/kernels/conv2d/conv2d_exact.cuh"

#define TSR_CONV2D_EXACT(OC)                                                                      \
  extern "C" __global__ void __launch_bounds__(256, 2) conv2d_f32_exact_128x##OC(                 \
      const float* x, const float* w, const __grid_constant__ tessera::cuda::Conv2dArguments a) { \
    tessera::cuda::conv2d_exact<OC>(x, w, a);                                                     \
  }
TSR_CONV2D_EXACT(128)
TSR_CONV2D_EXACT(64)
