#pragma once

// Weights that are kept in fewer bits than they are computed with, and how the dense engine gets them back. A panel is
//
//   codes     [reduction][columns]          8 bits each (bfloat8_b), 4 (bfloat4_b) or 16 (bfloat16)
//   exponents [reduction][columns / 16]     8 bits each; none for bfloat16
//
// so that 16 columns (output channels) of one step of the reduction share an exponent: as on a Tensix card, where a
// row of 16 of the weight matrix [reduction, output channels] does. It is also the cheap way round here: 16 neighbours
// are one vector, and a factor for all of it is one multiplication.
//
// Codes are of two's complement. bfloat4_b keeps columns i and i + 8 of a block in one byte, the first in the low half;
// tiles of 8 columns i and i + 4.
//
// Plain data: files compiled for an instruction set include it.

#include "tessera/core/isa_functions.h"

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

// An exponent of E means a factor of 2^(E - 127 - shift), and is so large that this is a normal float32.
constexpr int kBlockShift_bfp8 = 6, kBlockShift_bfp4 = 2;

// `steps` of the reduction, `columns` each, as float32.
using DenseExpandFn = void (*)(const std::byte* codes, const std::byte* exponents, std::ptrdiff_t steps,
                               std::ptrdiff_t columns, float* to);

#define TSR_DENSE_EXPAND(name)                                                                     \
  TSR_EACH_ISA(void name(const std::byte* codes, const std::byte* exponents, std::ptrdiff_t steps, \
                         std::ptrdiff_t columns, float* to);)
TSR_DENSE_EXPAND(dense_expand_w16)
TSR_DENSE_EXPAND(dense_expand_bfp8)
TSR_DENSE_EXPAND(dense_expand_bfp4)
#undef TSR_DENSE_EXPAND

}  // namespace tessera::cpu
