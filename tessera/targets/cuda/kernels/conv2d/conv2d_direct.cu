// The convolution for every shape, for each element type.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_direct.cuh"

#define TSR_CONV2D_DIRECT(NAME, T)                                                                               \
  extern "C" __global__ void __launch_bounds__(256)                                                              \
      conv2d_##NAME##_direct(const T* x, const T* w, const __grid_constant__ tessera::cuda::Conv2dArguments a) { \
    tessera::cuda::conv2d_direct(x, w, a);                                                                       \
  }
TSR_CONV2D_DIRECT(f16, __half)
TSR_CONV2D_DIRECT(bf16, __nv_bfloat16)
TSR_CONV2D_DIRECT(f32, float)
