#pragma once

// Products of small integers, which int32 sums exactly: the inner loop of the quantised operators.

#include "tessera/backends/cpu/internal/isa_functions.h"

#include <cstdint>

namespace tessera::cpu {

// Rows are padded with zeros to this many elements.
constexpr std::int64_t kIntegerStep = 16;
// Longest sum of products of two differences of bytes, each within +-255, that int32 holds.
constexpr std::int64_t kIntegerLongest = 33000;

// y[i * y_stride + j] = sum over k of a[i * length + k] * b[j * length + k]. length is a multiple of kIntegerStep.
TSR_EACH_ISA(void integer_dots(const std::int16_t* a, std::int64_t rows, const std::int16_t* b, std::int64_t columns,
                               std::int64_t length, std::int32_t* y, std::int64_t y_stride);)

}  // namespace tessera::cpu
