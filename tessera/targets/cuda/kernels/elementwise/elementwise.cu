// One or two operands, element by element, with broadcasting. Bound by memory: 16 bytes of each operand at a time where
// the innermost dimension allows it.

#include "tessera/targets/cuda/kernels/elementwise/elementwise_arguments.h"
#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

__device__ __forceinline__ float smaller(float a, float b) { return a != a ? a : b != b ? b : a < b ? a : b; }

__device__ __forceinline__ float combined(float a, float b, Combination combination) {
  switch (combination) {
    case Combination::first: return a;
    case Combination::add: return a + b;
    case Combination::sub: return a - b;
    case Combination::mul: return a * b;
    case Combination::div: return a / b;
    case Combination::min: return smaller(a, b);
    case Combination::max: return larger(a, b);
    case Combination::prelu: return a < 0 ? a * b : a;
  }
  return a;
}

template <class T, int kCount>
__device__ __forceinline__ void read(const T* from, std::int64_t innermost_stride, float (&to)[kCount]) {
  if (innermost_stride == 0) {
    const float value = widened(*from);
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = value;
  } else {
    widen(load<T, kCount>(from), to);
  }
}

template <class T, int kCount>
__device__ __forceinline__ void elementwise(const T* a, const T* b, T* y, const ElementwiseArguments& args) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const int last = args.rank - 1;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    std::int64_t at_a = 0, at_b = 0, at_y = 0;
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
      at_a += step * args.a[d];
      at_b += step * args.b[d];
      at_y += step * args.y[d];
    }
    float left[kCount], right[kCount] = {};
    read<T, kCount>(a + at_a, args.a[last], left);
    if (args.combination != Combination::first) read<T, kCount>(b + at_b, args.b[last], right);
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      left[k] = activated(combined(left[k], right[k], args.combination), args.activation);
    store(y + at_y, round<T>(left));
  }
}

}  // namespace tessera::cuda

#define TSR_ELEMENTWISE(NAME, T)                                                                        \
  extern "C" __global__ void __launch_bounds__(256) elementwise_##NAME(                                 \
      const T* a, const T* b, T* y, const __grid_constant__ tessera::cuda::ElementwiseArguments args) { \
    tessera::cuda::elementwise<T, 1>(a, b, y, args);                                                    \
  }                                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) elementwise_##NAME##_wide(                          \
      const T* a, const T* b, T* y, const __grid_constant__ tessera::cuda::ElementwiseArguments args) { \
    tessera::cuda::elementwise<T, tessera::cuda::kWide<T>>(a, b, y, args);                              \
  }
TSR_ELEMENTWISE(f16, __half)
TSR_ELEMENTWISE(bf16, __nv_bfloat16)
TSR_ELEMENTWISE(f32, float)
