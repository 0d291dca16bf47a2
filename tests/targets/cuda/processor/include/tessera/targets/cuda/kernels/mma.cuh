#pragma once

// As the file of this name of the library, on the processor.

#include "tests/targets/cuda/processor/machine.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace tessera::cuda::mma {

template <class T>
inline float element(std::uint64_t word, int which) {
  const auto bits = static_cast<std::uint16_t>(word >> (which * 16));
  if constexpr (std::is_same_v<T, __half>)
    return processor::float_of_half(bits);
  else
    return processor::float_of_bfloat(bits);
}

template <class T>
inline void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  processor::Given own{};
  own.words[0] = a[0] | std::uint64_t{a[2]} << 32;  // the first row
  own.words[1] = a[1] | std::uint64_t{a[3]} << 32;  // 8 further
  own.words[2] = b0 | std::uint64_t{b1} << 32;
  const processor::Given* const all = processor::exchange(own);
  const int lane = static_cast<int>(processor::thread_index().x % 32);
  for (int column = 0; column < 2; ++column)
    for (int row = 0; row < 2; ++row) {
      float sum = d[row * 2 + column];
      for (int part = 0; part < 4; ++part)
        for (int k = 0; k < 4; ++k)
          sum += element<T>(all[lane / 4 * 4 + part].words[row], k) *
                 element<T>(all[(lane % 4 * 2 + column) * 4 + part].words[2], k);
      d[row * 2 + column] = sum;
    }
}

inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address, bool transposed) {
  const processor::Given* const all = processor::exchange({{address}});
  const int lane = static_cast<int>(processor::thread_index().x % 32);
  for (int matrix = 0; matrix < 4; ++matrix) {
    const auto row_at = [&](int row) {
      return processor::shared_pointer(static_cast<std::uint32_t>(all[matrix * 8 + row].words[0]));
    };
    std::uint16_t pair[2];
    for (int i = 0; i < 2; ++i)
      if (transposed)
        std::memcpy(&pair[i], row_at(lane % 4 * 2 + i) + lane / 4 * 2, 2);
      else
        std::memcpy(&pair[i], row_at(lane / 4) + (lane % 4 * 2 + i) * 2, 2);
    to[matrix] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
  }
  processor::sync_warp();  // all have read before any of them writes there
}
inline void load(std::uint32_t (&to)[4], std::uint32_t address) { load_matrices(to, address, false); }
inline void load_transposed(std::uint32_t (&to)[4], std::uint32_t address) { load_matrices(to, address, true); }

inline void copy16(std::uint32_t to, const void* from, bool inside) {
  processor::copy_later(processor::shared_pointer(to), from, inside ? 16 : 0, inside ? 0 : 16);
}
inline void commit_copies() { processor::commit_copies(); }
template <int kPending>
inline void wait_for_copies() {
  processor::wait_for_copies(kPending);
}

}  // namespace tessera::cuda::mma
