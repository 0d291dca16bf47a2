#pragma once

// What an accuracy budget of a plan is measured by: the model with one image, and what float32 makes of it here.

#include "model_argument.h"

#include "tessera/planner/accuracy.h"

namespace tessera::cli {

// The model of the argument with a batch of one where it takes one, else as it is.
planner::Calibration calibration_of(const ModelArgument& argument);

}  // namespace tessera::cli
