// The transposed convolution that takes every shape: one thread for each result, which looks for the input pixels whose
// windows cover it. Weights lie as kh, kw, ic, oc of a group, groups outermost.

#include "tessera/targets/cuda/kernels/conv_transpose/conv_transpose_arguments.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

template <class T>
__device__ __forceinline__ void conv_transpose(const T* x, const T* weights, const float* bias, const T* residual, T* y,
                                               const ConvTransposeArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const std::int64_t count = static_cast<std::int64_t>(a.n) * a.oh * a.ow * a.oc;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int oc = static_cast<int>(i % a.oc);
  const std::int64_t pixel = i / a.oc;
  const int ox = static_cast<int>(pixel % a.ow), oy = static_cast<int>(pixel / a.ow % a.oh);
  const int image = static_cast<int>(pixel / a.ow / a.oh);
  const int group_ic = a.c / a.groups, group_oc = a.oc / a.groups, group = oc / group_oc;
  float sum = 0;
  for (int ky = 0; ky < a.kh; ++ky) {
    const int high = oy + a.pad_top - ky * a.dilation_h;
    if (high < 0 || high % a.stride_h != 0 || high / a.stride_h >= a.h) continue;
    for (int kx = 0; kx < a.kw; ++kx) {
      const int wide = ox + a.pad_left - kx * a.dilation_w;
      if (wide < 0 || wide % a.stride_w != 0 || wide / a.stride_w >= a.w) continue;
      const std::int64_t at = (static_cast<std::int64_t>(image) * a.h + high / a.stride_h) * a.w + wide / a.stride_w;
      const T* const from = x + at * a.x_pixel + group * group_ic;
      const T* const taps =
          weights + ((static_cast<std::int64_t>(group) * a.kh + ky) * a.kw + kx) * group_ic * group_oc + oc % group_oc;
      for (int c = 0; c < group_ic; ++c)
        sum = fmaf(widened(from[c]), widened(taps[static_cast<std::int64_t>(c) * group_oc]), sum);
    }
  }
  sum += bias[oc];
  if (residual) sum += widened(residual[pixel * a.residual_pixel + oc]);
  y[pixel * a.y_pixel + oc] = rounded<T>(activated(sum, a.activation));
}

}  // namespace tessera::cuda

#define TSR_CONV_TRANSPOSE(NAME, T)                                                                   \
  extern "C" __global__ void __launch_bounds__(256)                                                   \
      conv_transpose_##NAME(const T* x, const T* weights, const float* bias, const T* residual, T* y, \
                            const __grid_constant__ tessera::cuda::ConvTransposeArguments a) {        \
    tessera::cuda::conv_transpose(x, weights, bias, residual, y, a);                                  \
  }
TSR_CONV_TRANSPOSE(f16, __half)
TSR_CONV_TRANSPOSE(bf16, __nv_bfloat16)
TSR_CONV_TRANSPOSE(f32, float)
