#pragma once

#include "tessera/target/target.h"

namespace tessera::tensix {

// Tenstorrent cards: Wormhole and Blackhole.
TSR_API const Target& target();

}  // namespace tessera::tensix
