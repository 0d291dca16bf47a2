// Winograd's transforms for portable: internal/winograd_simd.h has them.

#include "tessera/backends/cpu/internal/winograd_simd.h"
