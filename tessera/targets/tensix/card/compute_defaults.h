#pragma once

// What operators compute with when nothing is said, as TTNN 0.81.1 chooses it.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/compute_config.h"

namespace tessera::tensix {

// Of sums that should be exact (softmax, the global average): float32 in Dst. Wormhole then stops at HiFi3, since HiFi4
// with float32 in Dst has a fault in its hardware.
TSR_API ComputeConfig precise_compute(const TensixSpec& card);

// `user_program`: the caller gave a program config or a grid.
TSR_API ComputeConfig default_matmul_compute(DType a, DType b, DType out, bool user_program, const TensixSpec& card);

}  // namespace tessera::tensix
