#pragma once

#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

namespace tessera::tensix {

// Whether a convolution is depthwise along one axis, which has a program of its own: no bias, an image one row high.
bool is_depthwise_1d(const Conv2dProblem& problem);

// The layout that TTNN takes when none is asked for: the one with the smallest footprint, not the fastest. Block
// sharding must use at least as many cores as the grid has columns; products are not width-sharded.
TensorMemoryLayout choose_layout(const Conv2dProblem& problem, bool as_matmul, const TensixSpec& card);

}  // namespace tessera::tensix
