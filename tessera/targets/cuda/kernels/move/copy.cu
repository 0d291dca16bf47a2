// Copies from any strides to any strides, into another type where asked: orders of values, casts, concatenations,
// slices and transposes are all this. One thread for each pack of elements.

#include "tessera/targets/cuda/kernels/move/copy_arguments.h"
#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

template <class From, class To>
__device__ __forceinline__ To converted(From x) {
  if constexpr (std::is_same_v<From, To>)
    return x;
  else
    return rounded<To>(widened(x));
}

template <class From, class To, int kCount>
__device__ __forceinline__ void copy(const From* x, To* y, const CopyArguments& args) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int last = args.rank - 1;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    std::int64_t at_x = 0, at_y = 0;
    auto rest = static_cast<std::uint64_t>(i);
    for (int d = last; d >= 0; --d) {
      std::uint32_t index;
      if (d == 0) {
        index = static_cast<std::uint32_t>(rest);
      } else if (rest >> 32 == 0) {
        const auto narrow = static_cast<std::uint32_t>(rest);
        index = narrow % args.dimensions[d];
        rest = narrow / args.dimensions[d];
      } else {
        index = static_cast<std::uint32_t>(rest % args.dimensions[d]);
        rest /= args.dimensions[d];
      }
      const std::int64_t step = d == last ? static_cast<std::int64_t>(index) * kCount : index;
      at_x += step * args.x[d];
      at_y += step * args.y[d];
    }
    if constexpr (kCount == 1) {
      y[at_y] = converted<From, To>(x[at_x]);
    } else {
      store(y + at_y, load<From, kCount>(x + at_x));
    }
  }
}

}  // namespace tessera::cuda

#define TSR_COPY(NAME, FROM, TO, COUNT)                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                           \
      NAME(const FROM* x, TO* y, const __grid_constant__ tessera::cuda::CopyArguments args) { \
    tessera::cuda::copy<FROM, TO, COUNT>(x, y, args);                                         \
  }
TSR_COPY(copy_1, std::uint8_t, std::uint8_t, 1)
TSR_COPY(copy_2, std::uint16_t, std::uint16_t, 1)
TSR_COPY(copy_4, std::uint32_t, std::uint32_t, 1)
TSR_COPY(copy_8, std::uint64_t, std::uint64_t, 1)
TSR_COPY(copy_1_wide, std::uint8_t, std::uint8_t, 16)
TSR_COPY(copy_2_wide, std::uint16_t, std::uint16_t, 8)
TSR_COPY(copy_4_wide, std::uint32_t, std::uint32_t, 4)
TSR_COPY(copy_8_wide, std::uint64_t, std::uint64_t, 2)
TSR_COPY(cast_f32_f16, float, __half, 1)
TSR_COPY(cast_f32_bf16, float, __nv_bfloat16, 1)
TSR_COPY(cast_f16_f32, __half, float, 1)
TSR_COPY(cast_bf16_f32, __nv_bfloat16, float, 1)
