#include "tessera/targets/cpu/kernels/planes/planar_pack_simd.h"
