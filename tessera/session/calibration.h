#pragma once

// What an accuracy budget of a plan is measured by: a network with a few images, and what float32 makes of them here.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/plan/accuracy.h"

#include <vector>

namespace tessera {

struct Graph;

// Runs the network on this CPU with these images and keeps all values that it makes.
TSR_API tensix::Calibration calibrate(const Graph& graph, std::vector<Array> images);

}  // namespace tessera
