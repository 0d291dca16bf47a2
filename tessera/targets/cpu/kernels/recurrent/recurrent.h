#pragma once

// The operands of recurrent layers as their loops read them (recurrent_range.h).

#include "tessera/targets/cpu/kernels/flush.h"
#include "tessera/targets/cpu/kernels/kernel.h"
#include "tessera/targets/cpu/kernels/recurrent/recurrent_range.h"

#include <cstdint>
#include <vector>

namespace tessera::cpu {

struct RecurrentSizes {
  std::int64_t steps, batch, input, hidden, directions;
  std::int64_t gates;

  std::int64_t blocks() const { return ceil_div(hidden, kUnits); }
  std::int64_t padded() const { return blocks() * kUnits; }  // hidden units
  std::int64_t columns() const { return padded() * gates; }  // sums of a sample
};

// Rows of [directions, gates * hidden, depth], gate by gate. Those of the gates from `first` to `last` become columns
// of blocks; directions lie one after the other.
PackedWeights packed_gates(const Array& matrix, const RecurrentSizes& s, std::int64_t first, std::int64_t last,
                           Flush flush);

// What is added to the sums of the inputs, and to the product of the state where the reset gate of gru acts on that:
// directions x blocks x gates * kUnits.
struct RecurrentBiases {
  std::vector<float> x, h;
};
RecurrentBiases recurrent_biases(const Array* bias, const RecurrentSizes& s, bool linear_before_reset);

// Peepholes, directions x 3 x padded.
std::vector<float> recurrent_peepholes(const Array& p, const RecurrentSizes& s);

}  // namespace tessera::cpu
