// The rows of conv2d_rows.def for float32, whose operands are rounded to tf32.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_tiles.cuh"

#define TSR_CONV2D(MODE, PIXELS, OC, STAGES, MULTICAST)                                                             \
  extern "C" __global__ void __launch_bounds__(PIXELS * 2 + (OC == 256 ? 128 : 32), 1)                              \
      conv2d_tf32_##MODE##_##PIXELS##x##OC##_m##MULTICAST##_sm90(                                                   \
          const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,                             \
          const __grid_constant__ tessera::cuda::Conv2dArguments a) {                                               \
    constexpr bool patch = true, gather = false;                                                                    \
    (void)patch, (void)gather;                                                                                      \
    tessera::cuda::conv2d_tiles<float, tessera::cuda::Conv2dTiling{MODE, PIXELS / 64, OC, STAGES, MULTICAST}>(x, w, \
                                                                                                              a);   \
  }
#include "tessera/targets/cuda/kernels/conv2d/conv2d_rows.def"
