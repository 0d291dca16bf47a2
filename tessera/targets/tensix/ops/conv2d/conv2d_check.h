#pragma once

// What a convolution is refused for: values that make no sense, and limits of the card's counters.

#include "tessera/targets/tensix/ops/conv2d/conv2d_plan.h"

namespace tessera::tensix {

void check_conv2d_problem(const Conv2dProblem& problem, const TensixSpec& card);
void check_output_override(const Conv2dProblem& problem, TensorMemoryLayout layout);
void check_pages(const Conv2dPlan& plan);           // sticks on a core are counted in 16 bits
void check_reader_indices(const Conv2dPlan& plan);  // the list of windows fits the space that is set aside for it

}  // namespace tessera::tensix
