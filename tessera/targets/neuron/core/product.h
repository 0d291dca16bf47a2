#pragma once

// The product of a matmul's values, for each instruction set with equal results. Declarations only: files compiled for
// an instruction set include it.

#include "tessera/core/isa_functions.h"

namespace tessera::neuron {

// c[m][n] = sum over k of a[k][m] * b[k][n], all dense.
TSR_EACH_ISA(void product(const float* a, const float* b, float* c, int k, int m, int n);)

}  // namespace tessera::neuron
