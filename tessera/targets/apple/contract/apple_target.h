#pragma once

#include "tessera/target/target.h"

namespace tessera::apple {

// Apple silicon: networks and liquid layers as MLX scripts. Whole networks are not planned yet.
TSR_API const Target& target();

}  // namespace tessera::apple
