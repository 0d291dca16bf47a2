#pragma once

// Who reads a convolution's windows: one processor, or two that halve each block.

#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

namespace tessera::tensix {

// Whether a second reader shortens the time until the first product can start, by the estimate that TTNN itself uses:
// the second reader also fetches the weights, so it pays where activations, not weights, are waited for.
bool splits_reader(const Conv2dPlan& plan, const TensixSpec& card);

}  // namespace tessera::tensix
