#include "tessera/targets/neuron/core/product.h"

#include <cmath>

namespace tessera::neuron::portable {

void product(const float* a, const float* b, float* c, int k, int m, int n) {
  for (int r = 0; r < m; ++r)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int i = 0; i < k; ++i) sum = std::fma(a[i * m + r], b[i * n + j], sum);
      c[r * n + j] = sum;
    }
}

}  // namespace tessera::neuron::portable
