#pragma once

// How something changes with size or load: panels of curves over one axis. SVG, one file, no scripts.

#include "tessera/core/export.h"

#include <string>
#include <vector>

namespace tessera {

struct ScalingPicture {
  struct Series {
    std::string name{};
    std::vector<double> values{};  // one for each x; what cannot be drawn leaves a gap
  };
  struct Panel {
    std::string title{};
    bool logarithmic = false;
    std::vector<Series> series{};
  };
  std::string title{};
  std::string note{};  // below the picture: where the numbers come from
  std::string x_title{};
  bool logarithmic_x = false;
  std::vector<double> x{};
  std::vector<Panel> panels{};  // one below the other
};

TSR_API std::string scaling_to_svg(const ScalingPicture& picture);

}  // namespace tessera
