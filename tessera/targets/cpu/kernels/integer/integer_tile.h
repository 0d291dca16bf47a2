#pragma once

// One call of a tile of the integer engine: `count` rows times one or more panels of columns,
//
//   sum[m][n] = sum over taps t and groups g of rows[t][m][group g] . weights[panel][t][g][n] + bias[n]
//
// A group is 4 bytes: four elements with VNNI, otherwise two of int16.

#include "tessera/targets/cpu/kernels/integer/integer_epilogue.h"

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

struct IntegerTile {
  const std::byte* const* rows = nullptr;  // rows[tap * (rows of the tile) + m]
  std::ptrdiff_t taps = 0, count = 0;
  std::ptrdiff_t groups = 0;    // whole ones of a row
  std::ptrdiff_t last_at = -1;  // bytes from a row's begin to one more group, which overlaps the one before; -1: none
  bool flips = false;           // elements of x are int8: 128 more makes them uint8
  const std::byte* weights = nullptr;  // of the first panel
  std::ptrdiff_t panel_bytes = 0;
  std::ptrdiff_t columns = 0;          // in all panels together
  const std::int32_t* bias = nullptr;  // of the first panel; padded to whole panels
  const float* factors = nullptr;      // likewise
  bool within_int32 = false;           // so are products of any int32 with every factor
  const IntegerEpilogue* epilogue = nullptr;
  std::byte* const* y = nullptr;               // `count` rows, at the first panel's first column
  const std::byte* const* residual = nullptr;  // likewise, where something is added
};

using IntegerTileFn = void (*)(const IntegerTile& tile);

#define TSR_INTEGER_TILE(isa)                 \
  namespace isa {                             \
  void integer_tile(const IntegerTile& tile); \
  }
TSR_INTEGER_TILE(portable)
#if defined(__x86_64__)
TSR_INTEGER_TILE(avx2)
TSR_INTEGER_TILE(avx512)
TSR_INTEGER_TILE(avx512_vnni)
#endif
#undef TSR_INTEGER_TILE

}  // namespace tessera::cpu
