#include "tessera/targets/cpu/kernels/quantize/quantize_simd.h"
