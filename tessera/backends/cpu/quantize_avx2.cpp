#include "tessera/backends/cpu/internal/quantize_simd.h"
