#pragma once

// As the file of this name of the library, on the processor. Kernels run one after the other there: nothing is waited
// for between them.

#include "tests/targets/cuda/processor/machine.h"
#include "tests/targets/cuda/processor/tensor_map.h"

#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera::cuda::ptx {

inline std::uint32_t shared_address(const void* pointer) { return processor::shared_address(pointer); }

inline float bounded(float x, float lower, float upper) {
  const float above = x != x ? x : lower != lower ? lower : std::max(x, lower);
  return above != above ? above : upper != upper ? upper : std::min(above, upper);
}
inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline float power_of_2(float x) { return flushed(std::exp2(flushed(x))); }
inline float reciprocal(float x) { return flushed(1.0f / flushed(x)); }

template <class Bytes, class T>
inline Bytes load_streaming(const T* from) {
  return *reinterpret_cast<const Bytes*>(from);
}
inline void store_shared(std::uint32_t address, float x, float y) {
  const float both[2] = {x, y};
  std::memcpy(processor::shared_pointer(address), both, 8);
}
template <int kThreads>
inline void sync_some() {
  processor::sync_some(1, kThreads);
}

inline void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) { processor::barrier_init(barrier, arrivals); }
inline void barrier_init_fence() {}
inline void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  processor::barrier_expect(barrier, static_cast<std::int32_t>(bytes));
}
inline void barrier_arrive(std::uint32_t barrier) { processor::barrier_arrive(barrier); }
inline void barrier_arrive_in(std::uint32_t barrier, std::uint32_t rank) {
  processor::barrier_arrive(processor::shared_address_in(barrier, rank));
}
inline void barrier_wait(std::uint32_t barrier, std::uint32_t parity) { processor::barrier_wait(barrier, parity); }

inline std::uint32_t cluster_rank() { return processor::cluster_rank(); }
inline void cluster_sync() { processor::sync_cluster(); }
inline float4 load_from_block(std::uint32_t address, std::uint32_t rank) {
  float4 value;
  std::memcpy(&value, processor::shared_pointer(processor::shared_address_in(address, rank)), 16);
  return value;
}
inline float load_float_from_block(std::uint32_t address, std::uint32_t rank) {
  float value;
  std::memcpy(&value, processor::shared_pointer(processor::shared_address_in(address, rank)), 4);
  return value;
}
inline void launch_dependents() {}
inline void wait_for_previous_kernel() {}
template <int kCount>
inline void shrink_registers() {}
template <int kCount>
inline void grow_registers() {}

inline void prefetch(const CUtensorMap*) {}
inline void load_box(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier, const int (&at)[5]) {
  processor::barrier_complete(barrier, processor::load_box(map, to, at));
}
inline void load_3d(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier, int x, int y, int z) {
  load_box(map, to, barrier, {x, y, z, 0, 0});
}
inline void load_3d_multicast(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier, int x, int y, int z,
                              std::uint16_t blocks) {
  for (unsigned rank = 0; rank < 16; ++rank)
    if (blocks >> rank & 1)
      load_box(map, processor::shared_address_in(to, rank), processor::shared_address_in(barrier, rank),
               {x, y, z, 0, 0});
}
inline void load_4d(const CUtensorMap* map, std::uint32_t to, std::uint32_t barrier, int x, int y, int z, int u) {
  load_box(map, to, barrier, {x, y, z, u, 0});
}

}  // namespace tessera::cuda::ptx
