#pragma once

#include "tessera/core/export.h"

#include <span>
#include <string>

namespace tessera {

struct TimingPoint {
  std::string kind;
  double measured_ns = 0, predicted_ns = 0;
};

// Predicted over measured times, both on logarithmic axes, as an SVG.
TSR_API std::string timing_picture(std::span<const TimingPoint> points);

}  // namespace tessera
