#pragma once

// What an accuracy budget of a plan is measured by: the model with a few images, and what float32 makes of them here.

#include "model_argument.h"

#include "tessera/targets/tensix/plan/accuracy.h"

#include <cstdint>

namespace tessera::cli {

// The model of the argument with so many images where its batch is open, else as it is.
tensix::Calibration calibration_of(const ModelArgument& argument, std::int64_t images);

}  // namespace tessera::cli
