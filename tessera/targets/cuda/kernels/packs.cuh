#pragma once

// Several neighbouring elements that are loaded and stored at once.

#include "tessera/targets/cuda/kernels/elements.cuh"

#include <cstdint>

namespace tessera::cuda {

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

// As many as make 16 bytes.
template <class T>
inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

template <class T, int kCount>
__device__ __forceinline__ Pack<T, kCount> load(const T* from) {
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}
template <class T, int kCount>
__device__ __forceinline__ void store(T* to, const Pack<T, kCount>& pack) {
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

template <class T, int kCount>
__device__ __forceinline__ void widen(const Pack<T, kCount>& pack, float (&to)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = widened(pack.values[i]);
}
template <class T, int kCount>
__device__ __forceinline__ Pack<T, kCount> round(const float (&from)[kCount]) {
  Pack<T, kCount> pack;
#pragma unroll
  for (int i = 0; i < kCount; ++i) pack.values[i] = rounded<T>(from[i]);
  return pack;
}

}  // namespace tessera::cuda
