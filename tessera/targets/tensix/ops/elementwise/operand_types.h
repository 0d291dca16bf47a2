#pragma once

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"

#include <cstdint>

namespace tessera::tensix {

// Which types TTNN takes of operands.
enum class OperandTypes : std::uint8_t {
  fractions,               // floating types
  plain_fractions,         // those that share no exponents
  fractions_int32,         // and int32
  fractions_int32_uint32,  // and uint32
  arithmetic,              // all but uint8
  all,
  bits,       // int32, uint32, uint16
  wide_bits,  // int32, uint32
  int32,
};

TSR_API bool takes(OperandTypes types, DType dtype);

}  // namespace tessera::tensix
