#include "tessera/graph/ops/grid_taps.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/keys.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Folds x back at both borders until it lies between them.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  double beyond = std::fmod(std::abs(x - low), 2 * range);
  if (beyond > range) beyond = 2 * range - beyond;
  return low + beyond;
}

}  // namespace

GridAxis::GridAxis(const GridSample& op, std::int64_t extent)
    : op_(op),
      extent_(extent),
      low_(op.align_corners ? 0.0 : -0.5),
      high_(static_cast<double>(extent) - (op.align_corners ? 1.0 : 0.5)) {}

GridTaps GridAxis::taps_at(double x) const {
  if (op_.mode == GridSample::Mode::nearest) x = std::nearbyint(x);
  x = inside(x);
  GridTaps out;
  if (op_.mode == GridSample::Mode::nearest) {
    add(out, x, 1.0);
    return out;
  }
  const double floor = std::floor(x), ratio = x - floor;
  const bool cubic = op_.mode == GridSample::Mode::cubic;
  for (int i = cubic ? -1 : 0; i <= (cubic ? 2 : 1); ++i)
    add(out, floor + i, cubic ? internal::keys(ratio - i, -0.75) : i == 0 ? 1 - ratio : ratio);
  return out;
}

double GridAxis::inside(double x) const {
  const double last = static_cast<double>(extent_ - 1);
  switch (op_.padding) {
    // Far enough outside is all the same: nothing is seen from there. A NaN is nowhere.
    case GridSample::Padding::zeros: return std::isnan(x) ? -8.0 : std::clamp(x, -8.0, last + 8.0);
    case GridSample::Padding::border: return std::isnan(x) ? 0.0 : x < low_ || x > high_ ? std::clamp(x, 0.0, last) : x;
    case GridSample::Padding::reflection:
      return !std::isfinite(x) ? 0.0 : x < low_ || x > high_ ? reflected(x, low_, high_) : x;
  }
  fail(Code::internal, "GridSample: no such padding");
}

void GridAxis::add(GridTaps& taps, double at, double weight) const {
  const double last = static_cast<double>(extent_ - 1);
  std::int64_t index = -1;
  if (op_.padding == GridSample::Padding::zeros) {
    if (at >= 0 && at <= last) index = static_cast<std::int64_t>(at);
  } else {
    if (op_.padding == GridSample::Padding::reflection) at = std::trunc(reflected(at, low_, high_));
    index = static_cast<std::int64_t>(std::clamp(at, 0.0, last));
  }
  taps.at[static_cast<std::size_t>(taps.count)] = index;
  taps.weight[static_cast<std::size_t>(taps.count)] = weight;
  ++taps.count;
}

}  // namespace tessera
