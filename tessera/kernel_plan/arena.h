#pragma once

// One block of memory for everything that lives for a part of a run only.

#include "tessera/core/export.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

constexpr std::int64_t kArenaAlignment = 64;

// Something that needs bytes from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaPlacement {
  std::vector<std::int64_t> offsets;   // one for each lifetime, multiples of kArenaAlignment
  std::int64_t bytes = 0;              // of the whole block
  std::int64_t lower_bound_bytes = 0;  // what is alive at once at the worst step: no placement can do with less
  int worst_step = 0;
};

// Places the largest first, each at the lowest offset where nothing that lives at the same time is in the way.
TSR_API ArenaPlacement place(std::span<const Lifetime> lifetimes);

}  // namespace tessera
