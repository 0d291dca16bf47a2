#pragma once

#include "tessera/core/float_bits.h"

#include <cstdint>

namespace tessera::cpu {

// What becomes of a weight when it is packed: subnormal ones become 0 of their sign, unless they are to stay.
struct Flush {
  bool on = true;

  float operator()(float value) const {
    const std::uint32_t bits = float_bits(value);
    return on && (bits & 0x7f80'0000u) == 0 ? float_from_bits(bits & 0x8000'0000u) : value;
  }
  std::uint16_t operator()(std::uint16_t bfloat16) const {
    return on && (bfloat16 & 0x7f80u) == 0 ? static_cast<std::uint16_t>(bfloat16 & 0x8000u) : bfloat16;
  }
};

}  // namespace tessera::cpu
