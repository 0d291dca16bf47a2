#include "tessera/backends/cpu/internal/dense_expand_simd.h"
