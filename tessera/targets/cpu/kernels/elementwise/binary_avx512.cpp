#include "tessera/targets/cpu/kernels/elementwise/binary_simd.h"
