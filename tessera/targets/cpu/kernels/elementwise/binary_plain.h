#pragma once

#include "tessera/core/element_type.h"
#include "tessera/graph/ops/binary.h"

#include <cstdint>

namespace tessera::cpu {

// y[i] = f(a[i], b[i]) for n elements, where an operand that is `one` gives its first element to all.
using BinaryPlainRange = void (*)(const void* a, bool a_one, const void* b, bool b_one, void* y, std::int64_t n);

// Null where the kind does not work on such elements.
BinaryPlainRange binary_plain_range(Binary::Kind kind, ElementType a, ElementType b);

}  // namespace tessera::cpu
