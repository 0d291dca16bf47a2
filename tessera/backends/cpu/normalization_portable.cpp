#include "tessera/backends/cpu/internal/normalization_simd.h"
