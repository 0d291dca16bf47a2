// Copies from any strides to any strides, into another type where asked: orders of values, casts, concatenations,
// slices and transposes are all this. One thread for each pack of elements.

#include "tessera/targets/cuda/kernels/move/copy_arguments.h"
#include "tessera/targets/cuda/kernels/packs.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

namespace tessera::cuda {

// A byte that is 0 or 1.
enum class Truth : std::uint8_t {};

template <class T>
inline constexpr bool kIsFloating =
    std::is_same_v<T, float> || std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

// Towards zero, the nearest bound where x is outside, 0 for NaN. lowest: of the type, which as a float is a power of 2.
template <class To>
__device__ __forceinline__ To whole(float x, To lowest, To highest) {
  if (x != x) return 0;
  const float bottom = static_cast<float>(lowest), beyond = lowest == 0 ? static_cast<float>(highest) + 1 : -bottom;
  return x >= beyond ? highest : x <= bottom ? lowest : static_cast<To>(x);
}
__device__ __forceinline__ std::uint8_t whole_number(float x, std::uint8_t) {
  return whole<std::uint8_t>(x, 0, UINT8_MAX);
}
__device__ __forceinline__ std::int8_t whole_number(float x, std::int8_t) {
  return whole<std::int8_t>(x, INT8_MIN, INT8_MAX);
}
__device__ __forceinline__ std::int32_t whole_number(float x, std::int32_t) {
  return whole<std::int32_t>(x, INT32_MIN, INT32_MAX);
}
__device__ __forceinline__ std::int64_t whole_number(float x, std::int64_t) {
  return whole<std::int64_t>(x, INT64_MIN, INT64_MAX);
}

template <class From, class To>
__device__ __forceinline__ To converted(From x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (std::is_same_v<From, Truth>) {
    return converted<std::int32_t, To>(x != Truth{0} ? 1 : 0);
  } else if constexpr (std::is_same_v<To, Truth>) {
    if constexpr (kIsFloating<From>)
      return Truth{widened(x) != 0};
    else
      return Truth{x != 0};
  } else if constexpr (kIsFloating<From>) {
    if constexpr (kIsFloating<To>)
      return rounded<To>(widened(x));
    else
      return whole_number(widened(x), To{});
  } else if constexpr (kIsFloating<To>) {
    return rounded<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(x);  // the low bits
  }
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
TSR_COPY(cast_f16_bf16, __half, __nv_bfloat16, 1)
TSR_COPY(cast_bf16_f16, __nv_bfloat16, __half, 1)
#define TSR_CASTS_OF_FLOATS(WHOLE, T)              \
  TSR_COPY(cast_f32_##WHOLE, float, T, 1)          \
  TSR_COPY(cast_f16_##WHOLE, __half, T, 1)         \
  TSR_COPY(cast_bf16_##WHOLE, __nv_bfloat16, T, 1) \
  TSR_COPY(cast_##WHOLE##_f32, T, float, 1)        \
  TSR_COPY(cast_##WHOLE##_f16, T, __half, 1)       \
  TSR_COPY(cast_##WHOLE##_bf16, T, __nv_bfloat16, 1)
TSR_CASTS_OF_FLOATS(bool, tessera::cuda::Truth)
TSR_CASTS_OF_FLOATS(u8, std::uint8_t)
TSR_CASTS_OF_FLOATS(i8, std::int8_t)
TSR_CASTS_OF_FLOATS(i32, std::int32_t)
TSR_CASTS_OF_FLOATS(i64, std::int64_t)
#define TSR_CASTS_FROM(WHOLE, T)                            \
  TSR_COPY(cast_##WHOLE##_bool, T, tessera::cuda::Truth, 1) \
  TSR_COPY(cast_bool_##WHOLE, tessera::cuda::Truth, T, 1)
TSR_CASTS_FROM(u8, std::uint8_t)
TSR_CASTS_FROM(i8, std::int8_t)
TSR_CASTS_FROM(i32, std::int32_t)
TSR_CASTS_FROM(i64, std::int64_t)
TSR_COPY(cast_i32_i64, std::int32_t, std::int64_t, 1)
TSR_COPY(cast_i64_i32, std::int64_t, std::int32_t, 1)
TSR_COPY(cast_u8_i32, std::uint8_t, std::int32_t, 1)
TSR_COPY(cast_u8_i64, std::uint8_t, std::int64_t, 1)
