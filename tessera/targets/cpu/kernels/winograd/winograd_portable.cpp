// Winograd's transforms for portable: internal/winograd_simd.h has them.

#include "tessera/targets/cpu/kernels/winograd/winograd_simd.h"
