#pragma once

// The circular buffers of a convolution's program, and of the product that a 1x1 convolution becomes.

#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

#include <cstdint>

namespace tessera::tensix {

constexpr std::int64_t kMostPages = 65535;  // a circular buffer's counters are 16 bits wide

// An image under the plan's window, as the halo sees it.
struct HaloProblem;
HaloProblem halo_problem_of(const Conv2dProblem& problem);

// Fills in the reader, the format of partial results and the buffers of a plan whose blocks and weights are known. An
// estimate is what layouts are weighed by: bounds where a program would count.
void choose_buffers(Conv2dPlan& plan, const TensixSpec& card, bool estimate = false);

// The same for a sharded product.
void choose_product_buffers(Conv2dPlan& plan);

}  // namespace tessera::tensix
