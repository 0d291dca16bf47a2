#pragma once

#include <cstdint>

namespace tessera::tensix {

constexpr std::int64_t kTile = 32;  // elements along a side of a tile, the only one that these operators take

}  // namespace tessera::tensix
