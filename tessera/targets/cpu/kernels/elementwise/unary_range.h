#pragma once

#include "tessera/core/isa_functions.h"
#include "tessera/graph/ops/unary.h"

#include <cstdint>

namespace tessera::cpu {

// y[i] = f(x[i]) for n elements; x and y may be the same.
using UnaryRange = void (*)(const void* x, void* y, std::int64_t n, float alpha, float beta);

// For float32 or bfloat16 elements; null for kinds that are not done in vectors.
TSR_EACH_ISA(UnaryRange unary_range(Unary::Kind kind, bool bfloat16);)
// Between alpha and beta; NaN passes, and a bound that is NaN is none.
TSR_EACH_ISA(UnaryRange clip_range(bool bfloat16);)

}  // namespace tessera::cpu
