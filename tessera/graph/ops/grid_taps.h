#pragma once

// Which elements of an axis GridSample reads for a place of its grid, and with what weights: its definition and its
// kernels read the same.

#include "tessera/core/export.h"
#include "tessera/graph/ops/detection.h"

#include <array>
#include <cstdint>

namespace tessera {

struct GridTaps {
  int count = 0;
  std::array<std::int64_t, 4> at{};  // -1: nothing there
  std::array<double, 4> weight{};
};

// Of one axis of the image.
class TSR_API GridAxis {
 public:
  GridAxis(const GridSample& op, std::int64_t extent);

  // `place` from -1 to 1, as in the grid. In float for grids of everything up to float, so that ties fall as they do
  // elsewhere.
  GridTaps taps(float place) const { return taps_at(unnormalized(place)); }
  GridTaps taps(double place) const { return taps_at(unnormalized(place)); }

 private:
  template <class Real>
  double unnormalized(Real place) const {
    const Real length = static_cast<Real>(extent_);
    return static_cast<double>(op_.align_corners ? (place + 1) / 2 * (length - 1) : ((place + 1) * length - 1) / 2);
  }
  GridTaps taps_at(double x) const;
  double inside(double x) const;
  void add(GridTaps& taps, double at, double weight) const;

  GridSample op_;
  std::int64_t extent_;
  double low_, high_;  // where reflection folds
};

}  // namespace tessera
