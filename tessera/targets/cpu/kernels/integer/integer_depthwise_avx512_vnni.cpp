#include "tessera/targets/cpu/kernels/integer/integer_depthwise_simd.h"
