#pragma once

// What the tests of convolutions and products share: nodes with random operators fused into them, and how much rounding
// they may show.

#include "tests/targets/cpu/kernel_case.h"

namespace tessera::cpu {

// One of the values, evenly.
template <class T>
T pick(std::initializer_list<T> values, std::mt19937_64& random) {
  return values.begin()[random() % values.size()];
}

// Which operators are fused after the first node of the graph.
struct Fusion {
  int before = 0;  // 0: none; else an activation, see activations()
  bool residual = false;
  int after = 0;  // only with a residual
  bool pool = false;
};
constexpr int kActivations = 14;  // and none

// Appends the fused operators to the only node of the case and gives it the arrays they need.
void fuse(KernelCase& test, const Fusion& fusion, ElementType type, std::mt19937_64& random);

// Sets the rounding that sums of `reduction` products of normal numbers may show.
void allow_rounding(KernelCase& test, ElementType type, std::int64_t reduction);

// Infinities, NaN, zeros and subnormal numbers here and there; nothing whose sum overflows in one order and not in
// another.
void sprinkle(Array& array, std::mt19937_64& random);

}  // namespace tessera::cpu
