#pragma once

// What the host passes to attention kernels, by value. Read by nvcc and by the C++ compiler.

#include <cstdint>

namespace tessera::cuda {

inline constexpr int kKeyTile = 64;  // keys that are multiplied at a time
// Tiles of keys in shared memory: where blocks are many, more of them fit a multiprocessor with fewer.
inline constexpr int kKeyTilesOfMany = 3, kKeyTilesOfFew = 4;
inline constexpr int kDirectWarps = 4;  // of the kernel for any shape, one query each

// Operands are batch, tokens, pitch, with heads side by side; pitches are in elements.
struct AttentionArguments {
  std::int32_t heads, queries, keys;
  std::int32_t depth, width;  // of a head: of queries and keys, of values
  std::int64_t q_pitch, k_pitch, v_pitch, y_pitch;
  std::int64_t q_batch, k_batch, v_batch, y_batch;  // from one sample to the next
  // The bias of sample n begins at n % bias_batches * bias_batch; a step is 0 where it is the same all along.
  std::int32_t bias_batches;
  std::int64_t bias_batch, bias_head, bias_query, bias_key;
  float scale;
};

}  // namespace tessera::cuda
