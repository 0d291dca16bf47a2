#pragma once

// Rows of sequences in either order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::ncp {

// Where things of one sample lie.
class Places {
 public:
  Places(bool batch_first, std::int64_t batch, std::int64_t steps)
      : batch_first_(batch_first), batch_(static_cast<std::size_t>(batch)), steps_(static_cast<std::size_t>(steps)) {}
  std::size_t row(std::size_t sample, std::size_t step) const {
    return batch_first_ ? sample * steps_ + step : step * batch_ + sample;
  }

 private:
  bool batch_first_;
  std::size_t batch_;
  std::size_t steps_;
};

template <class Real>
std::vector<Real> row(std::span<const Real> from, std::size_t index, std::size_t width) {
  if (from.empty()) return std::vector<Real>(width);
  const auto part = from.subspan(index * width, width);
  return {part.begin(), part.end()};
}

template <class Real>
void put(std::vector<Real>& to, std::size_t index, const std::vector<Real>& values) {
  std::copy(values.begin(), values.end(), to.begin() + static_cast<std::ptrdiff_t>(index * values.size()));
}

}  // namespace tessera::ncp
