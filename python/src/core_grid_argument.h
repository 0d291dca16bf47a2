#pragma once

// A grid of cores as people give it: a CoreGrid, the CoreCoord of its size, or (x, y).

#include "tessera/targets/tensix/card/core_grid.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

namespace tessera::python {

inline tensix::CoreGrid grid_of(const nanobind::object& grid) {
  if (nanobind::isinstance<tensix::CoreCoord>(grid)) {
    const tensix::CoreCoord core = nanobind::cast<tensix::CoreCoord>(grid);
    return {core.y, core.x};
  }
  if (nanobind::isinstance<tensix::CoreGrid>(grid)) return nanobind::cast<tensix::CoreGrid>(grid);
  const auto [x, y] = nanobind::cast<std::pair<int, int>>(grid);
  return {y, x};
}

}  // namespace tessera::python
