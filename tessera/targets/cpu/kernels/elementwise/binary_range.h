#pragma once

#include "tessera/core/isa_functions.h"
#include "tessera/graph/ops/binary.h"

#include <cstdint>

namespace tessera::cpu {

// y[i] = f(a[i], b[i]) for n elements, where an operand that is `one` gives its first element to all. y may be a or b.
using BinaryRange = void (*)(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n);

// Powers that are taken often.
enum class Power : std::uint8_t { square, cube, root };

// For float32 or bfloat16 elements; comparisons write bytes 0 and 1. Null for kinds that are not done in vectors.
TSR_EACH_ISA(BinaryRange binary_range(Binary::Kind kind, bool bfloat16);)
// Of a; b is not read.
TSR_EACH_ISA(BinaryRange power_range(Power power, bool bfloat16);)

}  // namespace tessera::cpu
