#pragma once

#include <span>
#include <string>

namespace tessera::cli {

struct TimingPoint {
  std::string kind;
  double measured_ns = 0, predicted_ns = 0;
};

// Predicted over measured times, both on logarithmic axes, as an SVG.
std::string timing_picture(std::span<const TimingPoint> points);

}  // namespace tessera::cli
