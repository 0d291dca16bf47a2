// The rows of conv2d_rows.def that gather, with gelu at the end: kernels of their own, as longer code would slow the
// others down.

#include "tessera/targets/cuda/kernels/conv2d/conv2d_tiles.cuh"

#define TSR_CONV2D(MODE, PIXELS, OC, STAGES, MULTICAST)
#define TSR_CONV2D_GATHER(MODE, PIXELS, OC, STAGES, MULTICAST)                                                        \
  extern "C" __global__ void __launch_bounds__(PIXELS * 2 + (OC == 256 ? 128 : 32), 1)                                \
      conv2d_f16_##MODE##_##PIXELS##x##OC##_m##MULTICAST##_sm90_gelu(                                                 \
          const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap w,                               \
          const __grid_constant__ tessera::cuda::Conv2dArguments a) {                                                 \
    constexpr bool gather = false;                                                                                    \
    tessera::cuda::conv2d_tiles<__half, tessera::cuda::Conv2dTiling{MODE, PIXELS / 64, OC, STAGES, MULTICAST}, true>( \
        x, w, a);                                                                                                     \
  }
#include "tessera/targets/cuda/kernels/conv2d/conv2d_rows.def"
