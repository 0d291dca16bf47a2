#pragma once

// The loops of recurrent layers. Hidden units go in blocks of kUnits; a block has a group of kUnits columns for each of
// its gates, so that whoever has the sums of a block has all that its units need. Weights lie block by block, each with
// its rows one after the other; units that are missing in the last block have zeros.

#include "tessera/core/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

constexpr std::int64_t kUnits = 16;

struct RecurrentProduct {
  const float* x;
  std::int64_t x_stride, rows, depth;
  bool alone;                   // one row, and no other thread has more of them
  const float* packed;          // blocks x depth x groups * kUnits
  std::int64_t blocks, groups;  // 1 to 4 groups
  const float* bias;            // blocks x groups * kUnits, or null: the sums are added to y
  float* y;
  std::int64_t y_stride, y_block;  // from row to row, from block to block
};

struct RecurrentFunctions {
  // y = bias + x w, or y += x w without a bias.
  void (*multiply)(const RecurrentProduct& product);
  // The rest work on one sample and `blocks` blocks; sums are cut at +-clip before their activation.
  void (*rnn)(const float* sums, float* h, std::int64_t blocks, float clip);
  // Sums of i o f c. Peepholes of i o f lie p_stride apart; null: none.
  void (*lstm)(const float* sums, const float* p, std::int64_t p_stride, float* c, float* h, std::int64_t blocks,
               float clip, bool input_forget);
  // Sums of z r h. z and r become the gates, and gated = r * h.
  void (*gru_gates)(float* sums, const float* h, float* gated, std::int64_t blocks, float clip);
  // next = (1 - z) * tanh(sum of h) + z * h, after gru_gates.
  void (*gru)(const float* sums, const float* h, float* next, std::int64_t blocks, float clip);
  // The same with gates of sums + product, the second of which the reset gate acts on.
  void (*gru_linear)(const float* sums, const float* product, const float* h, float* next, std::int64_t blocks,
                     float clip);
};

TSR_EACH_ISA(RecurrentFunctions recurrent_functions();)

}  // namespace tessera::cpu
