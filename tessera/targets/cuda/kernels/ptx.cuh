#pragma once

// Hopper instructions that CUDA C++ has no names for: barriers with byte counts, the tensor copy engine, matrix
// multiplication by warpgroups, clusters and dependent launches. The PTX manual has the definitions.

#include <cuda.h>

#include <cstdint>

namespace tessera::cuda::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- numbers ---------------------------------------------------------------------------------------------------------

// Unlike fminf and fmaxf this keeps NaN.
__device__ __forceinline__ float bounded(float x, float lower, float upper) {
  asm("max.NaN.f32 %0, %0, %1;\nmin.NaN.f32 %0, %0, %2;" : "+f"(x) : "f"(lower), "f"(upper));
  return x;
}
// 2 to the power of x, and 1 / x, off by 2 units in the last place; numbers too small to be normal are 0.
__device__ __forceinline__ float power_of_2(float x) {
  asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  return x;
}
__device__ __forceinline__ float reciprocal(float x) {
  asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(x));
  return x;
}

// --- loads, stores and waiting ---------------------------------------------------------------------------------------

// 16 bytes that nobody writes while the kernel runs, and that are read once: they need no place in the L1 cache.
template <class Bytes, class T>
__device__ __forceinline__ Bytes load_streaming(const T* from) {
  static_assert(sizeof(Bytes) == 16);
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  return reinterpret_cast<const Bytes&>(bits);
}
__device__ __forceinline__ void store_shared(std::uint32_t address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
// So many threads of the block, of those that come here; __syncthreads is another barrier.
template <int kThreads>
__device__ __forceinline__ void sync_some() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

// --- barriers in shared memory -------------------------------------------------------------------------------------

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The barrier at the same place in another block of the cluster.
__device__ __forceinline__ void barrier_arrive_in(std::uint32_t barrier, std::uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
// Until the phase of this parity is over. What is waited for is the copy engine's and the tensor cores' work, never an
// ordinary store of a peer: a wider scope than the block's would empty the L1 cache at every step.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra.uni finished;\nbra.uni again;\nfinished:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// --- clusters and launches -----------------------------------------------------------------------------------------

__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ float4 load_from_block(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t remote;
  float4 value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(remote)
               : "memory");
  return value;
}
__device__ __forceinline__ float load_float_from_block(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t remote;
  float value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(remote) : "memory");
  return value;
}
// The next kernel of the stream may start; it must not read what this one writes before its own wait returns.
__device__ __forceinline__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
// Until the kernel before this one is done and its results are visible.
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Registers of each thread from here on; all threads of the warpgroup say so.
template <int kCount>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

// --- tensor copies -------------------------------------------------------------------------------------------------

__device__ __forceinline__ void prefetch(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
__device__ __forceinline__ void load_3d(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier, int x, int y,
                                        int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// To the same place in every block of the cluster whose bit is set; counted at the same barrier of each.
__device__ __forceinline__ void load_3d_multicast(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier,
                                                  int x, int y, int z, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(blocks)
      : "memory");
}
__device__ __forceinline__ void load_4d(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier, int x, int y,
                                        int z, int u) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u)
      : "memory");
}

}  // namespace tessera::cuda::ptx
