#pragma once

#include "tessera/core/element_type_of.h"

#include <cmath>
#include <limits>

namespace tessera::internal {

// A computed value as a T: floating types convert; integers round half to even and stop at their limits (NaN at the
// lower).
template <class T>
T saturated(double value) {
  if constexpr (is_floating_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    const double rounded = std::nearbyint(value);
    if (!(rounded > static_cast<double>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    // The upper limits of the 64-bit types are not doubles: their neighbours above are, and compare as equal to what is
    // too much.
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  }
}

}  // namespace tessera::internal
