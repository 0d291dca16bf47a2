#include "tessera/targets/cpu/kernels/elementwise/unary_simd.h"
