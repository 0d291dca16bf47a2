#pragma once

// Element by element from one dtype to another.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/core/float_bits.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

// Converts `count` elements of any dtypes but the block floats (those live in tiles: tile_codec.h). Nothing needs to be
// aligned; source and destination must not overlap.
//
// - The same dtype: the bytes are copied.
// - To bfloat16: by `rounding` (float_bits.h). To float16 and float32: IEEE, nearest, ties to even, in both modes.
// - Floating to integer: truncated towards zero, saturated at the ends of the type, NaN gives 0, in both modes.
// - Integer to integer: saturated.
// - Integer to floating: first to float32 (nearest, ties to even), then as above.
TSR_API void convert(const std::byte* src, DType from, std::byte* dst, DType to, std::int64_t count, Rounding rounding);

}  // namespace tessera
