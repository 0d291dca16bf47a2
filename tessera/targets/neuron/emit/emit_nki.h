#pragma once

#include "tessera/core/export.h"
#include "tessera/targets/neuron/plan/tune.h"

#include <string>

namespace tessera::neuron {

// A schedule as an NKI script: fused_conv2d_maxpool(X, W, bias, pool_size) and a benchmark of it. It imports
// neuronxcc.nki where that exists and tessera.nki otherwise.
TSR_API std::string nki_script(const ConvProblem& problem, const ConvSchedule& schedule);

}  // namespace tessera::neuron
