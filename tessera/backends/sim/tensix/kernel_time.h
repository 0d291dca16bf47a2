#pragma once

// The time of one program on the cores: the one place where a queue's simulation asks for it.

#include "tessera/core/export.h"
#include "tessera/core/trace.h"
#include "tessera/machine/machine.h"

namespace tessera::tensix {

// Whether the card ran it: what goes to or comes from the host is a transfer, no program.
TSR_API bool is_program(const TraceRecord& record);

// A lower bound: every byte that the record moves, at the rate of the memory it comes from or goes to, all cores at
// work. Arithmetic is not in it.
TSR_API double kernel_ns(const TensixSpec& card, const TraceRecord& record);

}  // namespace tessera::tensix
