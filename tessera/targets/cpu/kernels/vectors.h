#pragma once

// The vector library (simd/) as kernels of the CPU see it: by its own names inside tessera::cpu::TSR_ISA. For files
// that are compiled once for each instruction set, and for nothing else.

#include "tessera/simd/math.h"
#include "tessera/simd/unroll.h"
#include "tessera/simd/vec.h"

namespace tessera::cpu::TSR_ISA {

using namespace simd::TSR_ISA;  // NOLINT(google-build-using-namespace): one namespace of kernels, one of vectors

}  // namespace tessera::cpu::TSR_ISA
