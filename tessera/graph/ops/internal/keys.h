#pragma once

#include <cmath>

namespace tessera::internal {

// Keys' cubic convolution kernel at distance x, nonzero within 2.
inline double keys(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

}  // namespace tessera::internal
