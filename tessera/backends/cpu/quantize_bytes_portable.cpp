#include "tessera/backends/cpu/internal/quantize_bytes_simd.h"
