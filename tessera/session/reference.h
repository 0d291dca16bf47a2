#pragma once

// What float32 makes of a network on this machine's own processor, for targets that measure their accuracy against it.

#include "tessera/core/export.h"
#include "tessera/target/simulation.h"

namespace tessera {

// `threads`: 0 for as many as the process may use.
TSR_API Reference session_reference(int threads = 0);

}  // namespace tessera
