#pragma once

// What the bits of narrow element types mean: 8-bit floats, and types of 4 and 2 bits. One value at a time.

#include "tessera/core/element_type.h"
#include "tessera/core/export.h"

#include <cstdint>

namespace tessera {

// Which neighbour a number becomes that float8_e8m0 does not have.
enum class PowerRounding : std::uint8_t { up, down, nearest };

// What happens to numbers beyond the largest. Floats: `saturate` makes them the largest, infinities too; otherwise they
// become infinity, or NaN where there is none (float4_e2m1 has neither: it always saturates). Integers: `saturate`
// takes the nearest bound, otherwise the low bits are kept.
struct NarrowRounding {
  bool saturate = true;
  PowerRounding power = PowerRounding::up;  // of float8_e8m0
};

// An element as memory holds it: floats by their bits, integers by their value with its sign.
TSR_API double narrow_value(ElementType type, std::uint8_t element);

// Floats round to the nearest, ties to even; integers towards zero. NaN is 0 of an integer, and -0 of float4_e2m1.
TSR_API std::uint8_t narrow_element(ElementType type, double value, const NarrowRounding& rounding = {});

// The low `element_bits(type)` bits as memory holds them: how files pack them.
TSR_API std::uint8_t narrow_from_bits(ElementType type, unsigned bits);

}  // namespace tessera
