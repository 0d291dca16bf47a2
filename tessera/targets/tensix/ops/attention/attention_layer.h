#pragma once

#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstdint>

namespace tessera::tensix {

// Attention of a network: heads lie side by side in rows of tokens.
struct AttentionLayer {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1;
  std::int64_t size = 1, value_size = 1;  // columns of a head
  float scale = 1;
  bool together = true;  // queries, keys and values side by side in one value
  Constant mask;         // added to scores: [1 or batch, 1 or heads, queries, keys]

  // Heads of whole tiles go through one program; others through products and a softmax.
  bool is_one_program() const { return size % 32 == 0 && value_size == size; }
  std::int64_t columns() const { return heads * (together ? 3 * size : size); }
  const CardOp* op() const;
};

}  // namespace tessera::tensix
