#include "tessera/targets/cpu/kernels/dense/dense_expand_simd.h"
