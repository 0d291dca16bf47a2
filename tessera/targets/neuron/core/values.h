#pragma once

// What instructions do to values. Views have been checked. Elements are float32, rounded to their type when written.

#include "tessera/core/array.h"
#include "tessera/targets/neuron/core/instruction.h"

#include <span>

namespace tessera::neuron {

void fill(const View& dst, float value);
void copy_values(const View& dst, const View& src);
void transpose_values(const View& dst, const View& src);
void combine_values(const View& dst, const View& a, const View& b, MathOp op);
void scalar_values(const View& dst, const View& a, MathOp op0, const Operand& operand0, MathOp op1,
                   const Operand& operand1);
void reduce_values(const View& dst, const View& src, MathOp op, int axes);
void activation_values(const View& dst, Function function, const View& src, const View& bias, float scale);
// Sums over partitions in their order, in float32 with fused multiply-add, then adds the sum to PSUM.
void matmul_values(const View& dst, const View& stationary, const View& moving, bool accumulate);

// What all of a view's tile holds, and rounds what a view reaches to its type.
std::span<float> values_of(const View& view);
void round_values(const View& view);

// Of the tile's own type, or float32.
void load_values(const View& dst, const Array& array);
Array stored_values(const View& src);

}  // namespace tessera::neuron
