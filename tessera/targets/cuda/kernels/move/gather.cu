// y[o, i, k] = x[o, position[i], k]: one thread for each element. Positions are within bounds.

#include "tessera/targets/cuda/kernels/move/gather_arguments.h"
#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda {

template <class T>
__device__ __forceinline__ void gather(const T* x, const std::int64_t* positions, T* y, const GatherArguments& a) {
  ptx::launch_dependents();
  ptx::wait_for_previous_kernel();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= a.count) return;
  const std::int64_t k = i % a.inner, rest = i / a.inner;
  y[i] = x[(rest / a.picked * a.extent + positions[rest % a.picked]) * a.inner + k];
}

}  // namespace tessera::cuda

#define TSR_GATHER(BYTES, T)                                                                                       \
  extern "C" __global__ void __launch_bounds__(256) gather_##BYTES(                                                \
      const T* x, const std::int64_t* positions, T* y, const __grid_constant__ tessera::cuda::GatherArguments a) { \
    tessera::cuda::gather(x, positions, y, a);                                                                     \
  }
TSR_GATHER(1, std::uint8_t)
TSR_GATHER(2, std::uint16_t)
TSR_GATHER(4, std::uint32_t)
TSR_GATHER(8, std::uint64_t)
TSR_GATHER(16, uint4)
