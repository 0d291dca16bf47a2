#pragma once

// The arithmetic of a Tensix core, one number at a time: the definition that everything faster must equal bit for bit.
//
// What the vendor documents: operands are cut to 19 bits, each phase multiplies one slice of the weight's mantissa by
// one of the activation's, an instruction adds 16 products up and adds the sum to Dst, Dst is float32 or rounded to
// bfloat16 at every addition, denormals are zero. What it leaves open and we decided:
// - The 16 products are added one after the other, lowest k first, in float32 with one rounding each (they are exact
//   themselves: 12 bits).
// - A tile of 32 along k takes all its phases before the next tile: k 0..15 and 16..31 of phase 0, then of phase 1, ...
// - Dst rounds to nearest, ties to even. (Ties are frequent where operands have few bits; taking them all away from
// zero
//   would make long sums of bfloat8_b grow by percents, which no published accuracy shows.) It holds no -0.
// - Infinities and NaN follow IEEE 754. Their slices after the first are 0, so more than one phase makes NaN of an
//   infinity. Which NaN comes out is not told apart: it is 0x7FC00000.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/float_bits.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/unary.h"
#include "tessera/targets/tensix/card/tile_side.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::tensix {

constexpr std::int64_t kFace = 16;  // products that one instruction adds up
// A tile holds k of two such instructions, which share their phases.

constexpr bool is_finite_bits(std::uint32_t bits) { return (bits & 0x7F80'0000u) != 0x7F80'0000u; }

// As it comes out of the unpacker into SrcA or SrcB: float32 cut to 10 stored bits of mantissa (bfloat16 and block
// floats have fewer), denormals zero.
constexpr float widen(float x) {
  const std::uint32_t u = float_bits(x);
  if (is_nan_bits(u)) return float_from_bits(0x7FC0'0000u);
  if ((u & 0x7F80'0000u) == 0) return float_from_bits(u & 0x8000'0000u);
  return float_from_bits(u & 0xFFFF'E000u);
}

// Of a widened number. Phases 0 and 2 take a weight's implicit 1 and 4 stored bits, 1 and 3 the next 5: the tenth bit
// of a float32 is used by none.
constexpr float weight_slice(float x, int phase) {
  const std::uint32_t u = float_bits(x);
  const float high = float_from_bits(u & 0xFFF8'0000u);
  if (phase == 0 || phase == 2) return high;
  return is_finite_bits(u) ? float_from_bits(u & 0xFFFF'C000u) - high : 0.0f;
}
// Phases 0 and 1 take an activation's implicit 1 and 6 stored bits, 2 and 3 what is left.
constexpr float activation_slice(float x, int phase) {
  const std::uint32_t u = float_bits(x);
  const float high = float_from_bits(u & 0xFFFE'0000u);
  if (phase == 0 || phase == 1) return high;
  return is_finite_bits(u) ? x - high : 0.0f;
}

// What Dst keeps of a sum.
constexpr float into_dst(float x, bool float32) {
  const std::uint32_t u = float_bits(x);
  if (is_nan_bits(u)) return float_from_bits(0x7FC0'0000u);
  if ((u & 0x7F80'0000u) == 0) return 0.0f;
  return float32 ? x : float_from_bits((u + 0x7FFFu + ((u >> 16) & 1u)) & 0xFFFF'0000u);
}

// What the vector unit puts back into Dst: the same, but a zero keeps its sign.
constexpr float from_vector_unit(float x, bool float32) {
  const float kept = into_dst(x, float32);
  return kept == 0 ? float_from_bits(float_bits(x) & 0x8000'0000u) : kept;
}

// One instruction: dst plus 16 products of widened operands, at one phase.
TSR_API float multiply_add(std::span<const float, kFace> activations, std::span<const float, kFace> weights, int phase,
                           float dst, bool float32);

// A whole matrix as it reads back after it was stored; blocks of 16 lie along rows, with zeros behind the last column.
TSR_API std::vector<float> stored_values(std::span<const float> x, Extent2d extent, DType dtype, Rounding rounding);
// 16 values of a row, or fewer at its end.
TSR_API void store_block(std::span<float> x, DType dtype, Rounding rounding);

// A function that the vector unit works out on what is in Dst.
struct DstActivation {
  Unary function = {Unary::Kind::identity};
  float most = std::numeric_limits<float>::infinity();  // and a bound above it: 6 for relu6
  bool operator==(const DstActivation&) const = default;
};
// "relu", "relu6", "silu", "leaky_relu(0.1)", ...: an Error with all names for one that does not exist.
TSR_API DstActivation activation_from_name(std::string_view text);

// In double, which the card approximates, and back into Dst.
TSR_API void apply(const DstActivation& activation, std::span<float> dst, bool float32);

}  // namespace tessera::tensix
