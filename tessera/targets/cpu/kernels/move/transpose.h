#pragma once

// Transposing matrices of elements of 1, 2, 4 or 8 bytes: to[c * to_stride + r] = from[r * from_stride + c]. Strides
// are in elements.

#include "tessera/core/isa_functions.h"

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

using TransposeKernel = void (*)(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
                                 std::int64_t rows, std::int64_t columns, std::int64_t element_bytes);
TSR_EACH_ISA(void transpose(const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride,
                            std::int64_t rows, std::int64_t columns, std::int64_t element_bytes);)

// The one for active_isa().
TransposeKernel transpose_kernel();

}  // namespace tessera::cpu
