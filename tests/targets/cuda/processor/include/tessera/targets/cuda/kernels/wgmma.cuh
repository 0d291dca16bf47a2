#pragma once

// As the file of this name of the library, on the processor. A product is there as soon as it is asked for.

#include "tests/targets/cuda/processor/machine.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace tessera::cuda::wgmma {

// Counts in 16 bytes in the lower half, as kernels add to it; above, the bytes from one group of 8 rows to the next.
inline std::uint64_t descriptor(std::uint32_t address, std::uint32_t group_bytes) {
  return std::uint64_t{group_bytes} << 32 | address >> 4;
}

inline void fence() {}
inline void commit() {}
// All lanes of a warp have multiplied when one of them goes on, as on the device.
template <int kPending>
inline void wait() {
  processor::sync_warp();
}

// 32 bytes of the depth of a row.
template <class T>
struct Slice {
  static constexpr int kDepth = 32 / static_cast<int>(sizeof(T));
  float values[kDepth];

  Slice(std::uint64_t of, int row) {
    const std::uint32_t start = static_cast<std::uint32_t>(of) << 4, group = static_cast<std::uint32_t>(of >> 32);
    const std::uint32_t at =
        start + static_cast<std::uint32_t>(row / 8) * group + static_cast<std::uint32_t>(row % 8) * 128;
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t linear = at + static_cast<std::uint32_t>(half) * 16;
      const std::byte* const from = processor::shared_pointer(linear ^ (linear >> 7 & 7) << 4);
      for (int i = 0; i < kDepth / 2; ++i) values[half * kDepth / 2 + i] = value(from, i);
    }
  }
  static float value(const std::byte* from, int i) {
    if constexpr (sizeof(T) == 4) {
      std::uint32_t bits;
      std::memcpy(&bits, from + i * 4, 4);
      bits &= ~0x1FFFu;
      float x;
      std::memcpy(&x, &bits, 4);
      return x;
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, from + i * 2, 2);
      return std::is_same_v<T, __half> ? processor::float_of_half(bits) : processor::float_of_bfloat(bits);
    }
  }
};

template <class T, int N>
struct Multiply {
  static void run(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int add) {
    const int thread = static_cast<int>(processor::thread_index().x % 128), lane = thread % 32;
    const int row = thread / 32 * 16 + lane / 4;
    const Slice<T> upper(a, row), lower(a, row + 8);
    for (int j = 0; j < N / 8; ++j)
      for (int column = 0; column < 2; ++column) {
        const Slice<T> right(b, j * 8 + lane % 4 * 2 + column);
        float sums[2] = {0, 0};
        for (int k = 0; k < Slice<T>::kDepth; ++k) {
          sums[0] += upper.values[k] * right.values[k];
          sums[1] += lower.values[k] * right.values[k];
        }
        for (int i = 0; i < 2; ++i) {
          float& to = d[j * 4 + i * 2 + column];
          to = add ? to + sums[i] : sums[i];
        }
      }
  }
};

}  // namespace tessera::cuda::wgmma
