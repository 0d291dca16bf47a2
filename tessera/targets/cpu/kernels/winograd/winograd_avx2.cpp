// Winograd's transforms for avx2: winograd_simd.h has them.

#include "tessera/targets/cpu/kernels/winograd/winograd_simd.h"
