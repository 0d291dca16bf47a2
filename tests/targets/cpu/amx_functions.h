#pragma once

// What the CPU's own tiles do, for machines that have them.

#include "tessera/simd/tile_unit.h"

namespace tessera::cpu {

// c += a * b by tiles 0, 1 and 2 of this configuration, whose rows are 64 bytes apart.
void amx_product(const simd::TileConfig& config, const void* a, const void* b, void* c);

}  // namespace tessera::cpu
