#pragma once

// Pictures of rates: a roofline with points below it, and a value over several runs. SVG, one file each, no scripts.

#include "tessera/core/export.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Roofline {
  std::string title{};
  std::string note{};  // below the picture: where the numbers come from
  double peak_flop_per_s = 0;
  double peak_bytes_per_s = 0;
  std::optional<double> target_flop_per_s{};

  struct Point {
    std::string label{};
    double intensity = 0;  // FLOP for each byte
    double flop_per_s = 0;
  };
  std::vector<Point> points{};
};
// Both axes logarithmic. Points that are not positive and finite are left out.
TSR_API std::string roofline_to_svg(const Roofline& roofline);

struct Curve {
  std::string title{};
  std::string unit{};
  std::vector<double> values{};  // one for each run; what is not finite leaves a gap
  std::optional<double> target{};
};
// One below the other.
TSR_API std::string curves_to_svg(std::string_view title, const std::vector<Curve>& curves);

}  // namespace tessera
