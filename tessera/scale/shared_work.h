#pragma once

// Many small pieces of work whose results everybody needs.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/scale/communicator.h"

#include <cstddef>
#include <vector>

namespace tessera {

// All ranks call it with the same count. Each piece is computed by one rank, whichever is free; rank 0 hands them out
// and computes beside that. Every rank gets all results, in order. A rank that fails ends all of them, each with an
// Error that names it and the cause.
TSR_API std::vector<Payload> share_work(Communicator& world, std::size_t count,
                                        FunctionRef<Payload(std::size_t)> compute);

// What rank 0 says.
TSR_API bool first_decides(Communicator& world, bool mine);

}  // namespace tessera
