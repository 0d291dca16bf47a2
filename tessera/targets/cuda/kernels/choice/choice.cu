// Comparisons, logic and what they choose between, element by element, with broadcasting. A truth is a byte, 0 or 1;
// any byte but 0 is taken for true. One thread for each element.

#include "tessera/targets/cuda/kernels/choice/choice_arguments.h"
#include "tessera/targets/cuda/kernels/elements.cuh"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

// Integers are compared as they are.
__device__ __forceinline__ std::int32_t widened(std::int32_t x) { return x; }
__device__ __forceinline__ std::int64_t widened(std::int64_t x) { return x; }
__device__ __forceinline__ bool widened(std::uint8_t x) { return x != 0; }

template <class W>
__device__ __forceinline__ bool answer(W a, W b, Question question) {
  switch (question) {
    case Question::equal: return a == b;
    case Question::less: return a < b;
    case Question::less_equal: return a <= b;
    case Question::greater: return a > b;
    case Question::greater_equal: return a >= b;
    case Question::both: return a != 0 && b != 0;
    case Question::either: return a != 0 || b != 0;
    case Question::one: return (a != 0) != (b != 0);
    case Question::no: return a == 0;
    case Question::nan: return a != a;
    case Question::negative_infinity: return a == -INFINITY;
    case Question::positive_infinity: return a == INFINITY;
    case Question::infinity: return a == INFINITY || a == -INFINITY;
  }
  return false;
}

struct Places {
  std::int64_t y = 0, a = 0, b = 0, c = 0;
};

// Where the i-th element of the result and what it is made of are.
__device__ __forceinline__ Places places_of(std::int64_t i, const ChoiceArguments& args) {
  Places at;
  auto rest = static_cast<std::uint64_t>(i);
  for (int d = args.rank - 1; d >= 0; --d) {
    std::int64_t index;
    if (d == 0) {
      index = static_cast<std::int64_t>(rest);
    } else if (rest >> 32 == 0) {
      const auto narrow = static_cast<std::uint32_t>(rest);
      index = narrow % args.dimensions[d];
      rest = narrow / args.dimensions[d];
    } else {
      index = static_cast<std::int64_t>(rest % args.dimensions[d]);
      rest /= args.dimensions[d];
    }
    at.y += index * args.y[d];
    at.a += index * args.a[d];
    at.b += index * args.b[d];
    at.c += index * args.c[d];
  }
  return at;
}

template <class Each>
__device__ __forceinline__ void for_each(const ChoiceArguments& args, Each each) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < args.count) each(places_of(i, args));
}

}  // namespace tessera::cuda

// b: null where a is asked about alone.
#define TSR_ASK(NAME, T)                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) ask_##NAME(                                               \
      const T* a, const T* b, std::uint8_t* y, const __grid_constant__ tessera::cuda::ChoiceArguments args) { \
    tessera::cuda::for_each(args, [&](const tessera::cuda::Places& at) {                                      \
      const auto left = tessera::cuda::widened(a[at.a]);                                                      \
      const auto right = b != nullptr ? tessera::cuda::widened(b[at.b]) : left;                               \
      y[at.y] = tessera::cuda::answer(left, right, args.question) ? 1 : 0;                                    \
    });                                                                                                       \
  }
TSR_ASK(f16, __half)
TSR_ASK(bf16, __nv_bfloat16)
TSR_ASK(f32, float)
TSR_ASK(i32, std::int32_t)
TSR_ASK(i64, std::int64_t)
TSR_ASK(bool, std::uint8_t)

#define TSR_CHOOSE(BYTES, T)                                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                                                                 \
      choose_##BYTES(const std::uint8_t* c, const T* a, const T* b, T* y,                                           \
                     const __grid_constant__ tessera::cuda::ChoiceArguments args) {                                 \
    tessera::cuda::for_each(args, [&](const tessera::cuda::Places& at) { y[at.y] = c[at.c] ? a[at.a] : b[at.b]; }); \
  }
TSR_CHOOSE(1, std::uint8_t)
TSR_CHOOSE(2, std::uint16_t)
TSR_CHOOSE(4, std::uint32_t)
TSR_CHOOSE(8, std::uint64_t)
