#pragma once

// From bytes to bytes without products: sums, averages, maxima, tables.

#include "tessera/core/isa_functions.h"
#include "tessera/targets/cpu/kernels/integer/integer_epilogue.h"
#include "tessera/targets/cpu/kernels/pool/pool.h"

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

// y = the sum of a and b as the epilogue says; `shift` is less the zero point of a. b is the residual.
TSR_EACH_ISA(void add_bytes(const std::byte* a, bool a_sign, const std::byte* b, const IntegerEpilogue& epilogue,
                            std::int64_t n, std::byte* y);)

// Of `pixels` rows of x that are `stride` apart, elements [0, n): the epilogue of (sum - less) * factor.
TSR_EACH_ISA(void average_bytes(const std::byte* x, bool has_sign, std::int64_t pixels, std::int64_t stride,
                                std::int64_t n, std::int32_t less, float factor, const IntegerEpilogue& epilogue,
                                std::byte* y);)

// As pool() of pool.h, of int8 or uint8.
TSR_EACH_ISA(void max_pool_bytes(const PoolJob& job, std::int64_t begin, std::int64_t end);)

}  // namespace tessera::cpu
