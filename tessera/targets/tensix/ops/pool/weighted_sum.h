#pragma once

// Reductions on the matrix engine: sums of values (in SrcA) times scalers (in SrcB), added into Dst as products are.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/compute_config.h"

#include <span>

namespace tessera::tensix {

// In the order given: 16 at an instruction, all phases for every 32.
TSR_API float weighted_sum(std::span<const float> values, std::span<const float> scalers, const ComputeConfig& compute);

}  // namespace tessera::tensix
