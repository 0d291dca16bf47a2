#include "tessera/targets/cpu/kernels/integer/integer_tile_simd.h"
