#include "tessera/backends/cpu/internal/pointwise_simd.h"
