#include "tessera/targets/cpu/kernels/normalization/normalization_simd.h"
