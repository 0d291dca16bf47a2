#pragma once

// The order in which a pool allocates, runs and frees, as the real one does it.

#include "tessera/targets/tensix/card/memory_steps.h"
#include "tessera/targets/tensix/ops/pool/pool.h"

#include <optional>

namespace tessera::tensix {

struct PoolSlots {
  MemorySteps::Slot result = 0;
  std::optional<MemorySteps::Slot> indices;
};

// A slice of an image in DRAM is read from one slot and written into the other.
struct PoolSliceOf {
  MemorySteps::Slot input = 0, output = 0;
};

// Appends the steps of one pool over x, or over one slice of it. `problem` is the slice's own.
PoolSlots add_pool_steps(MemorySteps& steps, const DeviceTensor& x, const PoolPlan& plan, const PoolProblem& problem,
                         const PoolOptions& options, const std::optional<PoolSliceOf>& slice_of = std::nullopt);

}  // namespace tessera::tensix
