#include "tessera/targets/cpu/kernels/dense/pointwise_simd.h"
