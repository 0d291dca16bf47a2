#pragma once

// What one core can do at most: multiply-adds on registers, nothing else.

#include "tessera/core/isa.h"

#include <cstdint>

namespace tessera::bench {

// Runs `steps` steps of independent multiply-adds in the widest vectors of the instruction set; returns the floating
// point operations done.
double run_fma(Isa isa, std::int64_t steps);

}  // namespace tessera::bench
