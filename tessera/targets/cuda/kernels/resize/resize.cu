// Images of another size, channels last: each result is a weighted sum of a few pixels that the host tabulated.

#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"
#include "tessera/targets/cuda/kernels/resize/resize_arguments.h"

namespace tessera::cuda {

template <class T, int kCount>
__device__ __forceinline__ void resize(const T* x, T* y, const ResizeArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const std::int64_t count = static_cast<std::int64_t>(a.n) * a.oh * a.ow * a.packs;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int pack = static_cast<int>(i % a.packs);
  const std::int64_t pixel = i / a.packs;
  const int ox = static_cast<int>(pixel % a.ow), oy = static_cast<int>(pixel / a.ow % a.oh);
  const int image = static_cast<int>(pixel / a.ow / a.oh);
  const T* const from = x + static_cast<std::int64_t>(image) * a.h * a.w * a.x_pixel + pack * kCount;
  float sums[kCount] = {};
  for (int row = a.first_h[oy]; row < a.first_h[oy + 1]; ++row) {
    const ResizeTapOnDevice high = a.taps_h[row];
    for (int column = a.first_w[ox]; column < a.first_w[ox + 1]; ++column) {
      const ResizeTapOnDevice wide = a.taps_w[column];
      const float weight = high.weight * wide.weight;
      float value[kCount];
      widen(load<T, kCount>(from + (static_cast<std::int64_t>(high.at) * a.w + wide.at) * a.x_pixel), value);
#pragma unroll
      for (int k = 0; k < kCount; ++k) sums[k] = weight == 1.0f ? sums[k] + value[k] : fmaf(weight, value[k], sums[k]);
    }
  }
  store(y + pixel * a.y_pixel + pack * kCount, round<T>(sums));
}

}  // namespace tessera::cuda

#define TSR_RESIZE_OF(NAME, T, COUNT)                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                               \
      resize_##NAME(const T* x, T* y, const __grid_constant__ tessera::cuda::ResizeArguments a) { \
    tessera::cuda::resize<T, COUNT>(x, y, a);                                                     \
  }
#define TSR_RESIZE(NAME, T) \
  TSR_RESIZE_OF(NAME, T, 1) \
  TSR_RESIZE_OF(NAME##_wide, T, tessera::cuda::kWide<T>)
TSR_RESIZE(f16, __half)
TSR_RESIZE(bf16, __nv_bfloat16)
TSR_RESIZE(f32, float)
