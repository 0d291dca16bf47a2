#include "tessera/backends/cpu/internal/unary_simd.h"
