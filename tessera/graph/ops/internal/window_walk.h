#pragma once

// Where a window touches its input, output position by output position. Only taps inside the input are visited, so the
// cost follows the data and not the padding.

#include "tessera/graph/ops/window.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::internal {

struct WindowTap {
  std::int64_t tap = 0;  // position in the kernel, row-major
  std::int64_t at = 0;   // position in the input's spatial dimensions, row-major
};

inline std::int64_t product(const std::vector<std::int64_t>& extents) {
  std::int64_t total = 1;
  for (std::int64_t e : extents) total *= e;
  return total;
}

class WindowWalk {
 public:
  WindowWalk(ResolvedWindow window, std::vector<std::int64_t> spatial)
      : window_(std::move(window)),
        spatial_(std::move(spatial)),
        low_(rank()),
        high_(rank()),
        first_(rank()),
        k_(rank()) {}

  std::int64_t inputs() const { return product(spatial_); }
  std::int64_t outputs() const { return product(window_.output); }

  // The taps of output position `o` that lie inside the input, in the order of the kernel. Valid until the next move.
  const std::vector<WindowTap>& move_to(std::int64_t o) {
    taps_.clear();
    bool none = false;
    for (std::size_t d = rank(); d-- > 0;) {
      first_[d] = o % window_.output[d] * window_.strides[d] - window_.begins[d];
      o /= window_.output[d];
      low_[d] = first_[d] >= 0 ? 0 : steps_to(-first_[d], d);
      high_[d] = first_[d] >= spatial_[d] ? 0 : std::min(steps_to(spatial_[d] - first_[d], d), window_.kernel[d]);
      none = none || low_[d] >= high_[d];
    }
    if (none) return taps_;
    k_ = low_;
    while (true) {
      WindowTap tap;
      for (std::size_t d = 0; d < rank(); ++d) {
        tap.tap = tap.tap * window_.kernel[d] + k_[d];
        tap.at = tap.at * spatial_[d] + first_[d] + k_[d] * window_.dilations[d];
      }
      taps_.push_back(tap);
      std::size_t d = rank();
      while (d-- > 0) {
        if (++k_[d] < high_[d]) break;
        k_[d] = low_[d];
      }
      if (d == static_cast<std::size_t>(-1)) return taps_;
    }
  }

  // How many taps of the current window lie in the input or its padding; a last window may reach beyond both.
  std::int64_t taps_in_padded_input() const {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < rank(); ++d)
      count *= std::min(steps_to(spatial_[d] + window_.ends[d] - first_[d], d), window_.kernel[d]);
    return count;
  }

 private:
  std::size_t rank() const { return spatial_.size(); }
  // The first tap at least `distance` >= 0 elements after the first one.
  std::int64_t steps_to(std::int64_t distance, std::size_t d) const {
    return (distance + window_.dilations[d] - 1) / window_.dilations[d];
  }

  ResolvedWindow window_;
  std::vector<std::int64_t> spatial_;
  std::vector<std::int64_t> low_, high_, first_, k_;  // of the current window, per dimension
  std::vector<WindowTap> taps_;
};

}  // namespace tessera::internal
