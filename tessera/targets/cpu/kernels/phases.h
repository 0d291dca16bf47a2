#pragma once

// Work in phases that wait for each other, too short for a parallel_for each: steps of a recurrent layer take a few
// microseconds.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"

#include <cstdint>

namespace tessera::cpu {

// body(phase, part) for every part of every phase; a phase begins when the one before it is complete. A part goes to
// the same thread in every phase while that thread is there, so that what it reads stays in its caches; others take it
// where the thread is not. Nobody waits for a thread that has not come. `body` must not throw.
TSR_API void run_phases(std::int64_t phases, int parts, FunctionRef<void(std::int64_t phase, int part)> body);

}  // namespace tessera::cpu
