#pragma once

// bfloat8_b and bfloat4_b: 16 values share one exponent. Each keeps a sign and a magnitude of 7 or 3 bits without a
// hidden one: magnitude m under the exponent E means m * 2^(E - 127 - 6) or m * 2^(E - 127 - 2).

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/float_bits.h"

#include <array>
#include <cstdint>
#include <span>

namespace tessera {

// Bits of a magnitude: 7 or 3.
constexpr int magnitude_bits(DType dtype) { return dtype == DType::bfloat8_b ? 7 : 3; }

struct Block {
  static constexpr int kSize = 16;

  std::uint8_t exponent = 0;                   // the largest raw float32 exponent field of the 16
  std::array<std::uint8_t, kSize> codes = {};  // sign above magnitude: 8 bits, or 4 in the low nibble

  bool operator==(const Block&) const = default;
};

// The definition that the tile kernels must match bit for bit. dtype is one of the two block floats, else an Error.
//
// Host: align to the shared exponent by discarding low bits, then round to nearest, ties to even (so a value just above
// a tie can go down). Rounding up out of range saturates. Zeros, denormals and what rounds to zero lose their sign.
// Infinity and NaN take part with their raw bits and push the others to zero.
//
// Packer: first to bfloat16 (nearest, ties away from zero, denormals flushed), whose largest exponent is shared; then
// to bfloat8_b, nearest. bfloat4_b truncates the bfloat8_b magnitude. The documentation does not say how the second
// step treats ties and overflow; we assume both as on the host. (A bfloat16 has one bit more than a bfloat8_b, so that
// ties are frequent: if they all went away from zero, activations would grow from layer to layer, and fewer phases of
// the multiplier would make networks more accurate, against all that is published.)
TSR_API Block encode_block(std::span<const float, Block::kSize> x, DType dtype, Rounding rounding);

// Exact wherever the value is a normal float32. Below, as TTNN does it: an exponent field that would be 0 drops the
// leading bit, one below 0 gives +0; no encoder writes such codes.
TSR_API void decode_block(const Block& block, DType dtype, std::span<float, Block::kSize> y);

}  // namespace tessera
