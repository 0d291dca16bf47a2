#include "tessera/targets/cpu/kernels/recurrent/recurrent_simd.h"
