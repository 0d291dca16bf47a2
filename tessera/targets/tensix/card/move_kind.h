#pragma once

// Why a value goes from one place of a card to another between operators.

#include "tessera/core/export.h"

#include <cstdint>
#include <string_view>

namespace tessera::tensix {

enum class MoveKind : std::uint8_t {
  spill,    // to DRAM, to make room
  restore,  // back into L1
  reshard,  // from L1 to L1
  slide,    // to another address of L1, in the shards it has: holes between tensors become one
};
TSR_API std::string_view name(MoveKind kind);  // "spill", ...

}  // namespace tessera::tensix
