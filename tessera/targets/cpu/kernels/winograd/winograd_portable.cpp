// Winograd's transforms for portable: winograd_simd.h has them.

#include "tessera/targets/cpu/kernels/winograd/winograd_simd.h"
