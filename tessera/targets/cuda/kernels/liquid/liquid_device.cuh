#pragma once

// What kernels of liquid layers share: arithmetic, copies that arrive later, stores to the blocks of a cluster.

#include "tessera/targets/cuda/kernels/ptx.cuh"

#include <cstdint>

namespace tessera::cuda::liquid {

// 4 or 16 bytes from device memory to shared memory, there after wait_for_copies() of the same thread.
__device__ __forceinline__ void copy_later_4(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(ptx::shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_later_16(float* to, const float* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(ptx::shared_address(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// `floats` in whole fours; both addresses are multiples of 16 bytes.
__device__ __forceinline__ void copy_block(float* to, const float* from, int floats) {
  for (int i = threadIdx.x * 4; i < floats; i += blockDim.x * 4) copy_later_16(to + i, from + i);
}

// To the same place in every block of the cluster.
__device__ __forceinline__ void store_to_all(float* place, float value, int cluster) {
  const std::uint32_t address = ptx::shared_address(place);
  for (int rank = 0; rank < cluster; ++rank) {
    std::uint32_t remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(remote), "f"(value) : "memory");
  }
}

__device__ __forceinline__ void sync(int cluster) {
  if (cluster > 1)
    ptx::cluster_sync();
  else
    __syncthreads();
}

// 2^x to 2 in the last place; overflow and underflow as IEEE, but for denormals, which become 0.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 1 / x to 1 in the last place.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace tessera::cuda::liquid
