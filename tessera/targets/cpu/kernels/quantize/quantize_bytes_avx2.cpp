#include "tessera/targets/cpu/kernels/quantize/quantize_bytes_simd.h"
