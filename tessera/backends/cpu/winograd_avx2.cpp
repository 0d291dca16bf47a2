// Winograd's transforms for avx2: internal/winograd_simd.h has them.

#include "tessera/backends/cpu/internal/winograd_simd.h"
