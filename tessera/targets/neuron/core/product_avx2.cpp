#include "tessera/targets/neuron/core/values.h"

#include <immintrin.h>

namespace tessera::neuron {

#define TSR_LANES 8
#define TSR_ROWS 4
#define TSR_FMA(w, x, s) _mm256_fmadd_ps(_mm256_set1_ps(w), x, s)
#include "tessera/targets/neuron/core/product.inc"

void product_avx2(const float* a, const float* b, float* c, int k, int m, int n) { product(a, b, c, k, m, n); }

}  // namespace tessera::neuron
