#include "tests/targets/cpu/simd_functions.h"

namespace tessera::cpu::TSR_ISA {

void values_of(SimdFunction function, const float* x, float* y, int n) {
  for (int i = 0; i < n; i += Vec::kWidth) value_of(function, Vec::load(x + i)).store(y + i);
}

}  // namespace tessera::cpu::TSR_ISA
