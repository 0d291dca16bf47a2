#include "tessera/targets/neuron/core/values.h"

#include <immintrin.h>

namespace tessera::neuron {

#define TSR_LANES 16
#define TSR_ROWS 8
#define TSR_FMA(w, x, s) _mm512_fmadd_ps(_mm512_set1_ps(w), x, s)
#include "tessera/targets/neuron/core/product.inc"

void product_avx512(const float* a, const float* b, float* c, int k, int m, int n) { product(a, b, c, k, m, n); }

}  // namespace tessera::neuron
