#pragma once

// What this machine can do at best, measured now: the roof that kernels are held against.

#include "tessera/core/export.h"
#include "tessera/core/isa.h"

namespace tessera {

struct Peak {
  double flop_per_s = 0;        // float32 multiply-adds, counted as two
  double read_bytes_per_s = 0;  // from memory, far beyond the caches
};

// Runs that many rounds of independent multiply-adds in the widest vectors of `isa` on this thread; returns the
// floating-point operations done.
TSR_API double run_peak_loop(Isa isa, long rounds);

// The best rate of such loops on so many threads at once, for about `seconds`: operations per second.
TSR_API double measure_flop_per_s(Isa isa, int threads, double seconds);

// On so many threads, with what `isa` has; takes about `seconds`.
TSR_API Peak measure_peak(Isa isa, int threads, double seconds = 0.1);

}  // namespace tessera
