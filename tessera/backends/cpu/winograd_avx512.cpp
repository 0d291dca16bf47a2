// Winograd's transforms for avx512: internal/winograd_simd.h has them.

#include "tessera/backends/cpu/internal/winograd_simd.h"
